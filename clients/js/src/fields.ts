import { refuse } from "./error.js";

export type Fields = Record<string, unknown>;

/** The object with exactly these keys; those that end with `?` may be absent. */
export function fields(value: unknown, keys: string[]): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) refuse("an object is missing");
  const object = value as Fields;
  const known = new Map(keys.map((key) => [key.replace("?", ""), key.endsWith("?")]));
  for (const key of Object.keys(object)) if (!known.has(key)) refuse("it has an unknown key");
  for (const [key, optional] of known) {
    if (!optional && !Object.hasOwn(object, key)) refuse(`the key ${key} is missing`);
  }
  return object;
}

export function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : refuse("a list is missing");
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : refuse("a text is missing");
}

/** A whole number from 1 to `most`. */
export function size(value: unknown, most = 2 ** 24): number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most
    ? (value as number)
    : refuse("a size is out of range");
}
