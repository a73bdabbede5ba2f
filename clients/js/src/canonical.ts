import { refuse } from "./error.js";
import { fields, list, text } from "./fields.js";
import { sha256 } from "./sha256.js";
import { hexadecimal } from "./bytes.js";

type Writer = (value: unknown) => string;

const all = (item: Writer) => (value: unknown) => `[${list(value).map(item).join(",")}]`;

const count: Writer = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? String(value) : refuse("its specification is incomplete");

/** A number as the canonical form has it: the shortest digits, with a decimal point between 1e-5 and 1e16. */
export const decimal: Writer = (value) => {
  if (typeof value !== "number" || !Number.isFinite(value)) refuse("its specification is incomplete");
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-5 || size >= 1e16)) return value.toExponential();
  if (!Number.isInteger(value)) return String(value);
  return (Object.is(value, -0) ? "-" : "") + value.toFixed(1);
};

const WRITERS: Record<string, Writer> = {
  a: count,
  g: count,
  v: count,
  k: count,
  epsilon: decimal,
  kappa: decimal,
  lambda: decimal,
  reveal: decimal,
  map: all(count),
  weights: all(decimal),
  rows: all(all(decimal)),
  steps: all((value) => canonical(value)),
  factors: all((value) => canonical(value)),
  parts: all((value) => canonical(value)),
  labels: all((value) => JSON.stringify(text(value))),
};

const KINDS = new Map(
  `identity a|grr a epsilon|ue a kappa lambda|rappor a epsilon|oue a epsilon|blh a epsilon|lh a g epsilon|subset a k epsilon|block a v k epsilon|deterministic map|erasure a reveal|matrix rows|composition steps|product factors|mixture weights parts`
    .split("|")
    .map((line) => line.split(" "))
    .map(([kind, ...keys]) => [kind!, keys]),
);

/** The canonical text of a specification. */
export function canonical(specification: unknown): string {
  const kind = (specification as { kind?: unknown } | null)?.kind;
  const keys = KINDS.get(kind as string) ?? refuse("its specification has an unknown kind");
  const object = fields(specification, ["kind", ...keys, "labels?"]);
  const written = [...keys, "labels"].filter((key) => Object.hasOwn(object, key));
  return `{"kind":"${kind}"${written.map((key) => `,"${key}":${WRITERS[key]!(object[key])}`).join("")}}`;
}

/** The SHA-256 of the canonical text, in lower-case hexadecimal. */
export function fingerprint(specification: unknown): string {
  return hexadecimal(sha256(new TextEncoder().encode(canonical(specification))));
}
