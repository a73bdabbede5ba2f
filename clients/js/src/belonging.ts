import { count } from "./draw.js";
import { refuse } from "./error.js";
import { type Fields } from "./fields.js";
import { ALL } from "./words.js";

// Whether what is drawn belongs to the specification, which alone the fingerprint covers. All of it was read before, so fields have their types.

/** What a level may be above another by rounding, as a share of it. */
const TOLERANCE = 1e-12;

/** Columns of a matrix, and weights, sum to 1 within this, and their words exactly. */
const SUM_TOLERANCE = 1e-6;

const parts = (value: unknown) => (value ?? []) as Fields[];
const values = (value: unknown) => value as unknown[];
const number = (value: unknown) => value as number;
const atMost = (level: number, bound: number) => level <= bound * (1 + TOLERANCE);
const same = (left: unknown, right: unknown) => JSON.stringify(left) === JSON.stringify(right);
const share = (words: unknown) => Number(count(words)) / Number(ALL);

/** The names of the inputs: the specification's own, or those of the first part that sees the inputs and has some. */
function labels(specification: Fields): unknown {
  if (specification["labels"] !== undefined) return specification["labels"];
  const seeing = [...parts(specification["steps"]).slice(0, 1), ...parts(specification["factors"]), ...parts(specification["parts"])];
  return seeing.map(labels).find((found) => found !== undefined);
}

/** Refuses a document whose draw, labels or level are not those of its specification. */
export function belonging({ protocol, labels: named, draw, realised_ldp }: Fields): void {
  if (!same(labels(protocol as Fields), named)) refuse("its labels are not those of its specification");
  if (!belongs(draw as Fields, protocol as Fields)) refuse("its draw is not that of its specification");
  const { value } = realised_ldp as Fields;
  const stated = value === "inf" ? Infinity : typeof value === "number" ? value : NaN;
  if (!atMost(level(draw as Fields), stated)) refuse("its draw has a higher LDP level than it states");
}

/** For each kind of specification the kinds of draw, and what else belongs to it. */
const KINDS: Record<string, [string, (draw: Fields, specification: Fields) => boolean]> = {
  identity: ["identity", () => true],
  grr: ["response", isPrivate],
  ue: ["bits", isPrivate],
  rappor: ["bits", isPrivate],
  oue: ["bits", isPrivate],
  blh: ["bits", isPrivate],
  lh: ["hash table", isPrivate],
  subset: ["subset", isPrivate],
  block: ["block", (draw, specification) => parts(draw["set"]).length === specification["k"] && isPrivate(draw, specification)],
  deterministic: ["map", ({ map }, specification) => same(map, specification["map"])],
  erasure: ["erasure", ({ reveal }, specification) => atMost(share(reveal), number(specification["reveal"]))],
  matrix: ["columns", ({ columns }, { rows }) => ofMatrix(columns as unknown[][], rows as number[][])],
  composition: ["composition", ({ steps }, specification) => all(steps, specification["steps"])],
  product: ["product", ({ factors }, specification) => all(factors, specification["factors"])],
  mixture: ["mixture", ({ weights, parts }, specification) => close(values(weights), values(specification["weights"])) && all(parts, specification["parts"])],
};

function belongs(draw: Fields, specification: Fields): boolean {
  const [kinds, also] = KINDS[specification["kind"] as string]!;
  const sizes = ["a", "g", "v"].every((key) => draw[key] === specification[key]);
  const sets = draw["k"] === undefined || draw["k"] === specification["k"];
  return kinds.split(" ").includes(draw["kind"] as string) && sizes && sets && also(draw, specification);
}

function all(draws: unknown, specifications: unknown): boolean {
  const [left, right] = [parts(draws), parts(specifications)];
  return left.length === right.length && left.every((draw, i) => belongs(draw, right[i]!));
}

function isPrivate(draw: Fields, { kind, epsilon, kappa, lambda }: Fields): boolean {
  const [own, other] = [number(kappa), number(lambda)];
  return atMost(level(draw), kind === "ue" ? bits(own, 1 - own, other, 1 - other, own - other) : number(epsilon));
}

/** Whether words are those of probabilities, but for what makes them sum to all. */
function close(words: unknown[], probabilities: unknown[]): boolean {
  return words.length === probabilities.length && words.every((w, i) => Math.abs(share(w) - number(probabilities[i])) <= SUM_TOLERANCE);
}

function ofMatrix(columns: unknown[][], rows: number[][]): boolean {
  const extent = (row: number[]) => [row.reduce((p, q) => Math.min(p, q)), row.reduce((p, q) => Math.max(p, q))] as const;
  const sizes = rows.every((row) => row.length === columns.length) && columns.every((column) => column.length === rows.length);
  return sizes && columnsLevel(columns) <= Math.max(...rows.map(extent).map(([low, high]) => ratio(high - low, low))) + SUM_TOLERANCE;
}

/** The level of what is drawn, for compositions only 0; a product has at least this level. */
function level(draw: Fields): number {
  const { kind, a, k, v, own, other, truth, lie, set } = draw;
  const revealing = (reveals: boolean) => (reveals ? Infinity : 0);
  const many = a !== 1;
  switch (kind) {
    case "identity":
      return revealing(many);
    case "map":
      return revealing(values(draw["map"]).some((y, _, map) => y !== map[0]));
    case "erasure":
      return revealing(many && count(draw["reveal"]) > 0n);
    case "response":
    case "hash":
    case "table":
      return many && truth !== undefined ? ofWords(count(truth), count(lie)) : 0;
    case "bits": {
      const [p, q] = [count(own), count(other)];
      const of = (words: bigint) => Number(words) / Number(ALL);
      return many ? bits(of(p), of(ALL - p), of(q), of(ALL - q), of(p - q)) : 0;
    }
    case "subset":
      return ofSets(number(a), number(k), count(own));
    case "block":
      return many ? ofSets(number(v), parts(set).length, count(own)) : 0;
    case "columns":
      return columnsLevel(draw["columns"] as unknown[][]);
    case "mixture":
      return Math.max(0, ...parts(draw["parts"]).filter((_, i) => count(values(draw["weights"])[i]) > 0n).map(level));
    case "product": {
      // Where the loss is the same between all inputs, losses multiply; among others the largest is reached.
      const uneven = (factor: Fields) => ["columns", "mixture", "product"].includes(factor["kind"] as string);
      const factors = parts(draw["factors"]);
      const even = factors.filter((factor) => !uneven(factor)).reduce((sum, factor) => sum + level(factor), 0);
      return even + Math.max(0, ...factors.filter(uneven).map(level));
    }
    default:
      return 0;
  }
}

/** The logarithm of `(excess + least)/least`. */
function ratio(excess: number, least: number): number {
  return excess === 0 ? 0 : Math.log1p(excess / least);
}

/** The logarithm of the larger of two ratios. */
function ofWords(p: bigint, q: bigint): number {
  return p > q ? ratio(Number(p - q), Number(q)) : ratio(Number(q - p), Number(p));
}

/** A set of `k` in `n` with the value has chance `π / C(n−1, k−1)`, one without `(1−π) / C(n−1, k)`. */
function ofSets(n: number, k: number, own: bigint): number {
  return k === n ? 0 : ofWords(own * BigInt(n - k), (ALL - own) * BigInt(k));
}

/** Two bits change: `κ(1 − λ)` to `λ(1 − κ)`, which differ by `κ − λ`, or the inverse. */
function bits(own: number, notOwn: number, other: number, notOther: number, excess: number): number {
  return excess > 0 ? ratio(excess, other * notOwn) : ratio(-excess, own * notOther);
}

function columnsLevel(columns: unknown[][]): number {
  const words = columns.map((column) => column.map(count));
  const row = (y: number) => {
    const entries = words.map((column) => column[y]!);
    return ofWords(entries.reduce((p, q) => (p < q ? p : q)), entries.reduce((p, q) => (p > q ? p : q)));
  };
  return Math.max(...words[0]!.map((_, y) => row(y)));
}
