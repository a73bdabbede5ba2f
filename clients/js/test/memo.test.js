import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { Client, Memo, webStorage } from "../dist/sottovoce.js";

const vectors = JSON.parse(readFileSync(new URL("../../../docs/vectors.json", import.meta.url), "utf8"));
const published = (start) => vectors.protocols.find(({ canonical }) => canonical.startsWith(start)).published;
const composition = published('{"kind":"composition","steps":[{"kind":"grr"');

/** A storage that answers later, and counts what is stored. */
function storage() {
  const kept = new Map();
  return {
    kept,
    get: async (key) => kept.get(key),
    async set(key, text) {
      await new Promise((done) => setTimeout(done, 1));
      kept.set(key, text);
    },
  };
}

test("the permanent answer is drawn once, also for two rounds at the same time", async () => {
  const place = storage();
  const memo = new Memo(new Client(composition), place, "q");
  const reports = await Promise.all(Array.from({ length: 50 }, () => memo.report(1)));
  assert.equal(place.kept.size, 1);
  assert.ok(new Set(reports).size > 1);
  const [kept] = place.kept.values();
  await new Memo(new Client(composition), place, "q").report(1);
  assert.deepEqual([...place.kept.values()], [kept]);
  await memo.report(2);
  assert.equal(place.kept.size, 2);
});

test("a round is drawn from the stored answer and nothing else", async () => {
  const place = storage();
  const words = [];
  const client = new Client(composition, () => words.shift() ?? assert.fail("more words than expected"));
  const memo = new Memo(client, place, "question");
  // Word 0: the truth. Then a round of unary encoding: no noise at all of 64, and the own bit set.
  words.push(0n, ...new Array(64).fill(2n ** 64n - 1n), 0n);
  const first = await memo.report(3);
  assert.deepEqual([...place.kept.values()], ["3"]);
  words.length = 0;
  words.push(...new Array(64).fill(2n ** 64n - 1n), 0n);
  assert.equal(await memo.report(3), first);
});

test("what was stored by something else is refused, not drawn anew", async () => {
  for (const text of ["4", "-1", "", "x", "1e0", 3, {}]) {
    const memo = new Memo(new Client(composition), { get: () => text, set: () => assert.fail("overwritten") }, "q");
    await assert.rejects(memo.report(0), { code: "storage" });
  }
});

test("a storage that fails gives no report, and the next round tries again", async () => {
  const place = storage();
  let full = true;
  const failing = { get: place.get, set: (key, text) => (full ? Promise.reject(new Error("full")) : place.set(key, text)) };
  const memo = new Memo(new Client(composition), failing, "q");
  await assert.rejects(memo.report(0), { message: "full" });
  full = false;
  await memo.report(0);
  assert.equal(place.kept.size, 1);
});

test("values outside the domain store nothing; other protocols have no permanent answer", async () => {
  const place = storage();
  await assert.rejects(new Memo(new Client(composition), place, "q").report("nothing"), { code: "domain" });
  assert.equal(place.kept.size, 0);
  assert.throws(() => new Memo(new Client(published('{"kind":"grr","a":3')), place, "q"), { code: "published" });
});

test("localStorage is a storage", async () => {
  const kept = new Map();
  const local = { getItem: (key) => kept.get(key) ?? null, setItem: (key, text) => kept.set(key, text) };
  const memo = new Memo(new Client(composition), webStorage(local), "q");
  assert.match((await memo.submission(0)).report, /^[0-9a-f]{2}$/);
  assert.equal(kept.size, 1);
});

test("two instances take turns under the platform's locks, and a memo has a name", async (t) => {
  if (!globalThis.navigator?.locks) {
    let last = Promise.resolve();
    const request = (_, task) => (last = last.then(task));
    const before = Object.getOwnPropertyDescriptor(globalThis, "navigator");
    Object.defineProperty(globalThis, "navigator", { value: { locks: { request } }, configurable: true });
    t.after(() => (before ? Object.defineProperty(globalThis, "navigator", before) : delete globalThis.navigator));
  }
  const place = storage();
  let stored = 0;
  const counting = { get: place.get, set: (key, text) => ((stored += 1), place.set(key, text)) };
  await Promise.all(Array.from({ length: 20 }, () => new Memo(new Client(composition), counting, "q").report(1)));
  assert.equal(stored, 1);
  assert.throws(() => new Memo(new Client(composition), place), { code: "storage" });
});
