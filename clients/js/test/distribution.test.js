// Reports have the exact probabilities of their channel, for every kind.
//
// Each comparison is a chi-square test of 20 000 reports on one input. Its threshold is the normal approximation of Wilson and Hilferty at z = 5.5, which is
// exceeded with probability below 1e-7 (checked for up to 100 degrees of freedom); with fewer than 200 comparisons the false-alarm rate of the file is below 2e-5.
// The words come from a fixed seed, so a test that passes goes on to pass.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { Client, bucket } from "../dist/sottovoce.js";

const vectors = JSON.parse(readFileSync(new URL("../../../docs/vectors.json", import.meta.url), "utf8"));
const REPORTS = 20000;

/** SplitMix64: good enough words for a test, the same each time. */
function seeded(seed) {
  let state = BigInt(seed);
  return () => {
    state = (state + 0x9e3779b97f4a7c15n) & 0xffffffffffffffffn;
    let z = state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & 0xffffffffffffffffn;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & 0xffffffffffffffffn;
    return z ^ (z >> 31n);
  };
}

/** Compares counts with probabilities; outcomes that are expected less than 10 times are one. */
function compare(counts, probabilities, what) {
  let [statistic, classes, rest, expectedRest] = [0, 0, 0, 0];
  for (const [outcome, probability] of probabilities) {
    const [count, expected] = [counts.get(outcome) ?? 0, REPORTS * probability];
    if (probability === 0) assert.equal(count, 0, `${what}: an impossible report`);
    if (expected < 10) {
      rest += count;
      expectedRest += expected;
    } else {
      statistic += (count - expected) ** 2 / expected;
      classes += 1;
    }
  }
  // Few expected reports: their number is almost Poisson, and above 10 + 8 √10 with probability below 1e-7.
  if (expectedRest < 10) assert.ok(rest <= 36, `${what}: ${rest} rare reports`);
  else {
    statistic += (rest - expectedRest) ** 2 / expectedRest;
    classes += 1;
  }
  for (const outcome of counts.keys()) assert.ok(probabilities.has(outcome), `${what}: not a report`);
  const freedom = classes - 1;
  if (freedom < 1) return;
  const threshold = freedom * (1 - 2 / (9 * freedom) + 5.5 * Math.sqrt(2 / (9 * freedom))) ** 3;
  assert.ok(statistic < threshold, `${what}: chi-square ${statistic} with ${freedom} degrees of freedom`);
}

function tally(draw) {
  const counts = new Map();
  for (let i = 0; i < REPORTS; i += 1) {
    const outcome = draw();
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  }
  return counts;
}

test("reports follow the exact channel", () => {
  const kinds = new Set();
  let comparisons = 0;
  for (const [place, { canonical, published, channel }] of vectors.protocols.entries()) {
    if (!channel) continue;
    JSON.stringify(published.draw, (key, value) => (key === "kind" && kinds.add(value), value));
    const client = new Client(published, seeded(1000 + place));
    for (let x = 0; x < published.inputs; x += 1) {
      const probabilities = new Map(channel.map(({ report, probabilities }) => [report, probabilities[x]]));
      compare(tally(() => client.reportOn(x)), probabilities, `${canonical} on ${x}`);
      comparisons += 1;
    }
  }
  assert.ok(comparisons > 40 && comparisons < 200, `${comparisons}`);
  const missing = ["identity", "response", "bits", "subset", "block", "map", "erasure", "columns", "composition", "product", "mixture", "table"];
  assert.deepEqual(missing.filter((kind) => !kinds.has(kind)), []);
});

test("local hash: every bucket as often, and its response", () => {
  for (const { published } of vectors.protocols.filter(({ published }) => published.draw.kind === "hash")) {
    const { a, g, truth, lie } = published.draw;
    const client = new Client(published, seeded(7));
    for (const x of [0, a - 1]) {
      const outcome = () => {
        const bytes = Buffer.from(client.reportOn(x), "hex");
        const z = bytes.subarray(8).reduceRight((z, byte) => z * 256 + byte, 0);
        const own = bucket(bytes.readBigUInt64LE(), x, g);
        // What the response does, and one bit of the seed, which must not depend on it.
        return `${(z - own + g) % g} ${bytes[0] & 1}`;
      };
      const words = (count) => Number(BigInt(count ?? 2n ** 64n)) / 2 ** 64;
      const probabilities = new Map();
      for (let d = 0; d < g; d += 1) for (const bit of [0, 1]) probabilities.set(`${d} ${bit}`, words(d ? lie : truth) / 2);
      compare(tally(outcome), probabilities, `lh ${a} ${g} on ${x}`);
      compare(tally(() => bucket(Buffer.from(client.reportOn(x), "hex").readBigUInt64LE(), x, g)), new Map(Array.from({ length: g }, (_, z) => [z, 1 / g])), "buckets");
    }
  }
});

test("sets of many values: each member as often as it should be", () => {
  for (const [place, { canonical, published, channel }] of vectors.protocols.entries()) {
    if (channel || !["bits", "subset"].includes(published.draw.kind)) continue;
    const { a, k, own, other } = published.draw;
    const [inside, size] = [Number(BigInt(own)) / 2 ** 64, REPORTS / 5];
    const among = k === undefined ? Number(BigInt(other)) / 2 ** 64 : (k - inside) / (a - 1);
    const client = new Client(published, seeded(place));
    const x = a - 2;
    const counts = new Array(a).fill(0);
    for (let i = 0; i < size; i += 1) {
      const bytes = Buffer.from(client.reportOn(x), "hex");
      for (let member = 0; member < a; member += 1) counts[member] += (bytes[member >> 3] >> (member & 7)) & 1;
    }
    for (const [member, count] of counts.entries()) {
      const p = member === x ? inside : among;
      // Six standard deviations: with at most 300 members a false-alarm rate below 1e-6.
      assert.ok(Math.abs(count - size * p) < 6 * Math.sqrt(size * p * (1 - p)) + 1e-9, `${canonical}, member ${member}: ${count}`);
    }
  }
});

test("a wrong channel is noticed", () => {
  const { published, channel } = vectors.protocols.find(({ published }) => published.draw.kind === "bits" && published.inputs === 3);
  const client = new Client(published, seeded(1));
  const probabilities = new Map(channel.map(({ report, probabilities }) => [report, probabilities[1]]));
  assert.throws(() => compare(tally(() => client.reportOn(0)), probabilities, "another input"));
});
