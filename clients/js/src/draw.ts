import { assign, fill, flip, has, lengthOf, members, numberOf, put, width, type Layout } from "./bytes.js";
import { refuse } from "./error.js";
import { fields, list, size, text, type Fields } from "./fields.js";
import { ALL, MASK, below, chosen, sixtyFour, type Words } from "./words.js";

/** Draws reports. What it does with which word is part of the report format. */
export interface Sampler {
  inputs: number;
  layout: Layout;
  /** The number of rows of the matrix. */
  rows: number;
  /** Writes a report on `x` into zeros. */
  report(x: number, words: Words, bytes: Uint8Array): void;
  /** The row of a report. */
  row(bytes: Uint8Array): number;
}

/** A step of a composition: from an input to the row that the next step is given. */
type Step = { inputs: number; rows: number; row(x: number, words: Words): number };

/** A sampler, and for a composition its first step and what comes after it. */
export type Drawing = Sampler & { first?: Step; after?: Sampler };

/** A number of words out of 2^64. */
export function count(value: unknown): bigint {
  const digits = text(value);
  if (!/^(0|[1-9]\d{0,19})$/.test(digits)) refuse("a threshold is not a number of words");
  const words = BigInt(digits);
  return words <= ALL ? words : refuse("a threshold is not a number of words");
}

/** The sums of counts up to each, which end at all words. */
export function sums(value: unknown): bigint[] {
  let sum = 0n;
  const all = list(value).map((entry) => (sum += count(entry)));
  return sum === ALL ? all : refuse("its thresholds do not sum to all words");
}

function require(holds: boolean): void {
  if (!holds) refuse("its thresholds do not fit together");
}

/** A sampler whose report is a number. */
function number(inputs: number, outputs: number, answer: (x: number, words: Words) => number): Sampler {
  const report = (x: number, words: Words, bytes: Uint8Array) => put(answer(x, words), bytes);
  return { inputs, layout: { outputs }, rows: outputs, report, row: numberOf };
}

function response(a: number, truth: bigint, lie: bigint): (x: number, words: Words) => number {
  require(a >= 2 && lie > 0n && truth + BigInt(a - 1) * lie === ALL);
  return (x, words) => {
    const word = words();
    if (word < truth) return x;
    const other = Number((word - truth) / lie);
    return other < x ? other : other + 1;
  };
}

function bits({ a: inputs, own, other }: Fields): Sampler {
  const [a, kappa, lambda] = [size(inputs), count(own), count(other)];
  return {
    inputs: a,
    layout: { bytes: Math.ceil(a / 8) },
    rows: 2 ** a,
    report(x, words, bytes) {
      fill(bytes, a, () => sixtyFour(lambda, words));
      assign(bytes, x, words() < kappa);
    },
    row: (bytes) => members(bytes).reduce((row, x) => row + 2 ** x, 0),
  };
}

/** The bucket of a value under the hash function with this seed. */
export function bucket(seed: bigint, x: number, g: number): number {
  let z = (seed + BigInt(x + 1) * 0x9e3779b97f4a7c15n) & MASK;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
  return Number(((z ^ (z >> 31n)) * BigInt(g)) >> 64n);
}

function hashed(object: Fields) {
  const [a, g] = [size(object["a"]), size(object["g"])];
  const answers = Object.hasOwn(object, "truth") && Object.hasOwn(object, "lie");
  require(answers || (g === 1 && !Object.hasOwn(object, "truth") && !Object.hasOwn(object, "lie")));
  const answer = answers ? response(g, count(object["truth"]), count(object["lie"])) : () => 0;
  const row = (values: number[], z: number) => values.reduceRight((f, value) => f * g + value, 0) * g + z;
  return { a, g, answer, rows: g ** a * g, row };
}

function hash(object: Fields): Sampler {
  const { a, g, answer, rows, row } = hashed(object);
  const seedOf = (bytes: Uint8Array) => bytes.slice(0, 8).reduceRight((seed, byte) => (seed << 8n) | BigInt(byte), 0n);
  return {
    inputs: a,
    layout: { bytes: 8 + width(g) },
    rows,
    report(x, words, bytes) {
      const seed = words();
      for (let at = 0; at < 8; at += 1) bytes[at] = Number((seed >> BigInt(8 * at)) & 255n);
      put(answer(bucket(seed, x, g), words), bytes.subarray(8));
    },
    row(bytes) {
      const seed = seedOf(bytes);
      return row(Array.from({ length: a }, (_, x) => bucket(seed, x, g)), numberOf(bytes.subarray(8)));
    },
  };
}

/** Local hash as a step: with the table of a function instead of a seed. */
function table(object: Fields): Step {
  const { a, g, answer, rows, row } = hashed(object);
  return {
    inputs: a,
    rows,
    row(x, words) {
      const values = Array.from({ length: a }, () => below(words, g));
      return row(values, answer(values[x]!, words));
    },
  };
}

/** `C(n, k)`, exact up to 2^53. */
function binomial(n: number, k: number): number {
  let value = k > n ? 0 : 1;
  for (let i = 1; i <= Math.min(k, n - k); i += 1) value = (value * (n - Math.min(k, n - k) + i)) / i;
  return value;
}

function subset({ a: inputs, k: members_, own, start }: Fields): Sampler {
  const a = size(inputs);
  const [k, inclusion] = [size(members_, a), count(own)];
  const { chance, digits } = fields(start, ["chance", "digits"]) as { chance: number; digits: number };
  require(k < a || inclusion === ALL);
  require(Number.isInteger(digits) && digits >= 0 && digits <= 6);
  require(Number.isInteger(chance) && chance >= 0 && chance <= 2 ** digits);
  // Half of (digit + chance so far), from the last digit to the first, is an "or" or an "and" with a random word.
  const begin = (words: Words) => {
    let events = chance >> digits ? MASK : 0n;
    for (let digit = 0; digit < digits; digit += 1) {
      events = (chance >> digit) & 1 ? events | words() : events & words();
    }
    return events;
  };
  const place = placesBelow(a);
  return {
    inputs: a,
    layout: { bytes: Math.ceil(a / 8) },
    rows: binomial(a, k),
    report(x, words, bytes) {
      const inside = words() < inclusion;
      const wanted = k - Number(inside);
      fill(bytes, a, () => begin(words));
      assign(bytes, x, false);
      const found = members(bytes).length;
      const places = place(words);
      for (let missing = Math.abs(found - wanted); missing > 0; ) {
        const other = places();
        if (other !== x && has(bytes, other) !== found < wanted) {
          flip(bytes, other);
          missing -= 1;
        }
      }
      assign(bytes, x, inside);
    },
    row: (bytes) => members(bytes).reduce((row, x, i) => row + binomial(x, i + 1), 0),
  };
}

/** Random places below a bound, several from each word, from its last digits. */
function placesBelow(bound: number): (words: Words) => () => number {
  const width = Math.max(1, (bound - 1).toString(2).length);
  const mask = (1n << BigInt(width)) - 1n;
  return (words) => {
    let [word, left] = [0n, 0];
    return () => {
      for (;;) {
        if (left === 0) [word, left] = [words(), Math.floor(64 / width)];
        const place = Number(word & mask);
        word >>= BigInt(width);
        left -= 1;
        if (place < bound) return place;
      }
    };
  };
}

function block({ a: inputs, v: order, own, set }: Fields): Sampler {
  const [v, inclusion] = [size(order), count(own)];
  const a = size(inputs, v);
  const inside = list(set).map((residue) => (residue === 0 ? 0 : size(residue, v - 1)));
  require(inside.length > 0 && inside.every((residue, i) => i === 0 || inside[i - 1]! < residue));
  const held = new Set(inside);
  const others = Array.from({ length: v }, (_, residue) => residue).filter((residue) => !held.has(residue));
  require(others.length > 0 || inclusion === ALL);
  return number(a, v, (x, words) => {
    const residues = words() < inclusion ? inside : others;
    const residue = residues[below(words, residues.length)]!;
    return x >= residue ? x - residue : x + v - residue;
  });
}

function map({ map: outputs }: Fields): Sampler {
  const map = list(outputs).map((y) => (y === 0 ? 0 : size(y, 2 ** 24 - 1)));
  return number(size(map.length), map.reduce((most, y) => Math.max(most, y), 0) + 1, (x) => map[x]!);
}

function columns({ columns: given }: Fields): Sampler {
  const columns = list(given).map(sums);
  const outputs = size(columns[0]?.length);
  require(columns.every((column) => column.length === outputs));
  return number(size(columns.length), outputs, (x, words) => chosen(columns[x]!, words()));
}

function composition({ steps }: Fields): Drawing {
  const draws = list(steps);
  const last = drawing(draws[draws.length - 1]);
  const before = draws.slice(0, -1).map(step);
  const inputs = [...before.slice(1), last].map((next) => next.inputs);
  require(before.every(({ rows }, i) => rows === inputs[i]));
  const [first, ...later] = before;
  const after = first && later.length > 0 ? { ...last, ...chain(later, last) } : last;
  return first ? { ...last, ...chain(before, last), first, after } : last;
}

function chain(before: Step[], last: Sampler): Pick<Sampler, "inputs" | "report"> {
  return {
    inputs: before[0]!.inputs,
    report: (x, words, bytes) => last.report(before.reduce((row, step) => step.row(row, words), x), words, bytes),
  };
}

function step(draw: unknown): Step {
  const kind = (draw as Fields | null)?.["kind"];
  if (kind === "table") return table(fields(draw, HASH));
  // A seed in place of the table would be another number of rows.
  require(kind !== "hash");
  const sampler = drawing(draw);
  const length = lengthOf(sampler.layout);
  const row = (x: number, words: Words) => {
    const bytes = new Uint8Array(length);
    sampler.report(x, words, bytes);
    return sampler.row(bytes);
  };
  return { inputs: sampler.inputs, rows: sampler.rows, row };
}

/** Samplers of parts that are about the same values, with the length of their reports. */
function together(draws: unknown) {
  const parts = list(draws).map((draw) => {
    const sampler = drawing(draw);
    return { sampler, length: lengthOf(sampler.layout) };
  });
  const inputs = parts[0]?.sampler.inputs;
  require(parts.every(({ sampler }) => sampler.inputs === inputs));
  return { parts, inputs: inputs ?? refuse("it combines nothing") };
}

function product({ factors }: Fields): Sampler {
  const { parts, inputs } = together(factors);
  const starts = parts.map((_, i) => parts.slice(0, i).reduce((sum, { length }) => sum + length, 0));
  const own = (bytes: Uint8Array, i: number) => bytes.subarray(starts[i]!, starts[i]! + parts[i]!.length);
  return {
    inputs,
    layout: { bytes: parts.reduce((sum, { length }) => sum + length, 0) },
    rows: parts.reduce((rows, { sampler }) => rows * sampler.rows, 1),
    report: (x, words, bytes) => parts.forEach(({ sampler }, i) => sampler.report(x, words, own(bytes, i))),
    row: (bytes) => parts.reduce((row, { sampler }, i) => row * sampler.rows + sampler.row(own(bytes, i)), 0),
  };
}

function mixture({ weights, parts: draws }: Fields): Sampler {
  const [{ parts, inputs }, choice] = [together(draws), sums(weights)];
  require(parts.length === choice.length);
  const name = width(parts.length);
  const own = (bytes: Uint8Array, j: number) => bytes.subarray(name, name + parts[j]!.length);
  return {
    inputs,
    layout: { bytes: name + Math.max(...parts.map(({ length }) => length)) },
    rows: parts.reduce((rows, { sampler }) => rows + sampler.rows, 0),
    report(x, words, bytes) {
      const j = chosen(choice, words());
      put(j, bytes.subarray(0, name));
      parts[j]!.sampler.report(x, words, own(bytes, j));
    },
    row(bytes) {
      const j = numberOf(bytes.subarray(0, name));
      return parts.slice(0, j).reduce((rows, { sampler }) => rows + sampler.rows, 0) + parts[j]!.sampler.row(own(bytes, j));
    },
  };
}

const HASH = ["kind", "a", "g", "truth?", "lie?"];

/** What each kind of draw has, and its sampler. */
const KINDS: Record<string, [string[], (object: Fields) => Drawing]> = {
  identity: [["a"], ({ a }) => number(size(a), size(a), (x) => x)],
  response: [
    ["a", "truth", "lie"],
    ({ a, truth, lie }) => number(size(a), size(a), response(size(a), count(truth), count(lie))),
  ],
  bits: [["a", "own", "other"], bits],
  hash: [HASH.slice(1), hash],
  subset: [["a", "k", "own", "start"], subset],
  block: [["a", "v", "own", "set"], block],
  map: [["map"], map],
  erasure: [
    ["a", "reveal"],
    ({ a: inputs, reveal }) => {
      const [a, truth] = [size(inputs), count(reveal)];
      return number(a, a + 1, (x, words) => (words() < truth ? x : a));
    },
  ],
  columns: [["columns"], columns],
  composition: [["steps"], composition],
  product: [["factors"], product],
  mixture: [["weights", "parts"], mixture],
};

/** The sampler of a published draw. */
export function drawing(draw: unknown): Drawing {
  const kind = (draw as Fields | null | undefined)?.["kind"];
  if (typeof kind !== "string" || !Object.hasOwn(KINDS, kind)) refuse("it has an unknown kind of draw");
  const [keys, make] = KINDS[kind]!;
  return make(fields(draw, ["kind", ...keys]));
}
