// Every vector of docs/vectors.json: the same bytes as the program in Rust.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import test from "node:test";

import { Client, SottovoceError, bucket, canonical, decimal, fingerprint } from "../dist/sottovoce.js";

const text = readFileSync(new URL("../../../docs/vectors.json", import.meta.url), "utf8");
const vectors = JSON.parse(text);

/** Words of a vector, and none after them. */
function replay(words) {
  let at = 0;
  const source = () => {
    assert.ok(at < words.length, "more words than the vector has");
    return BigInt(words[at++]);
  };
  return { source, left: () => words.length - at };
}

test("numbers are written as in Rust", () => {
  assert.ok(vectors.numbers.length >= 20);
  for (const { bits, text } of vectors.numbers) {
    const double = new DataView(new ArrayBuffer(8));
    double.setBigUint64(0, BigInt(`0x${bits}`));
    assert.equal(decimal(double.getFloat64(0)), text);
  }
});

test("specifications have their canonical form and fingerprint", () => {
  for (const { specification, canonical: wanted, published } of vectors.protocols) {
    assert.equal(canonical(specification), wanted);
    assert.equal(fingerprint(specification), published.fingerprint);
    assert.equal(createHash("sha256").update(wanted).digest("hex"), published.fingerprint);
  }
});

test("the same words lead to the same reports", () => {
  let reports = 0;
  for (const { canonical, published, reports: cases } of vectors.protocols) {
    for (const { x, words, report } of cases) {
      const { source, left } = replay(words);
      assert.equal(new Client(published, source).reportOn(x), report, canonical);
      assert.equal(left(), 0, `words left over: ${canonical}`);
      reports += 1;
    }
  }
  assert.ok(reports >= 180, `${reports}`);
});

test("values outside the domain are refused, and not repeated", () => {
  for (const { published, outside } of vectors.protocols) {
    const client = new Client(published, () => assert.fail("a word for nothing"));
    for (const value of [...outside, "secret-value", 0.5, -1, NaN, 1e9, null, undefined, {}, [0]]) {
      assert.throws(
        () => client.report(value),
        (error) => error instanceof SottovoceError && error.code === "domain" && !error.message.includes("secret"),
      );
    }
  }
});

test("labels are inputs, letter by letter", () => {
  const { published } = vectors.protocols.find(({ published }) => published.labels?.includes("red"));
  const client = new Client(published);
  assert.deepEqual(published.labels.map((label) => client.input(label)), [0, 1, 2]);
  for (const value of ["Red", " red", 0, "0"]) assert.throws(() => client.input(value), { code: "domain" });
  const plain = new Client(vectors.protocols[0].published);
  assert.deepEqual([0, "1", 2].map((value) => plain.input(value)), [0, 1, 2]);
});

test("published protocols that do not fit are refused", () => {
  assert.ok(vectors.refused.length >= 20);
  for (const { why, published } of vectors.refused) {
    assert.throws(() => new Client(published), { code: "published" }, why);
  }
  for (const published of [undefined, null, 3, "text", [], {}]) {
    assert.throws(() => new Client(published), { code: "published" });
  }
});

// The table of docs/report-format.md.
test("hash functions are those of the format", () => {
  for (const [seed, x, g, wanted] of [
    [0n, 0, 4294967296, 3793791033],
    [0n, 1, 4294967296, 1853398634],
    [42n, 0, 4, 2],
    [42n, 5, 4, 3],
    [2n ** 64n - 1n, 999, 10, 5],
  ]) {
    assert.equal(bucket(seed, x, g), wanted);
  }
});

test("ids are 16 random bytes, and reports repeat no words", () => {
  const client = new Client(vectors.protocols[1].published);
  const ids = Array.from({ length: 1000 }, () => client.submission(0).id);
  assert.ok(ids.every((id) => /^[0-9a-f]{32}$/.test(id)));
  assert.equal(new Set(ids).size, 1000);
});
