/** How reports of a protocol are written: a number below `outputs` in decimal digits, or bytes in hexadecimal. */
export type Layout = { outputs: number } | { bytes: number };

/** Fewest bytes that hold all numbers below `bound`. */
export function width(bound: number): number {
  let bytes = 1;
  while (256 ** bytes < bound) bytes += 1;
  return bytes;
}

export function lengthOf(layout: Layout): number {
  return "outputs" in layout ? width(layout.outputs) : layout.bytes;
}

/** Writes a number, little endian. */
export function put(number: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = Math.floor(number / 256 ** at) % 256;
}

/** Reads a number, little endian. */
export function numberOf(bytes: Uint8Array): number {
  return bytes.reduceRight((number, byte) => number * 256 + byte, 0);
}

export function has(bytes: Uint8Array, x: number): boolean {
  return ((bytes[x >> 3]! >> (x & 7)) & 1) === 1;
}

export function flip(bytes: Uint8Array, x: number): void {
  bytes[x >> 3]! ^= 1 << (x & 7);
}

/** Writes whether `x` is in the set. */
export function assign(bytes: Uint8Array, x: number, inside: boolean): void {
  if (has(bytes, x) !== inside) flip(bytes, x);
}

/** Fills a set of `a` values with 64 bits at a time. */
export function fill(bytes: Uint8Array, a: number, sixtyFour: () => bigint): void {
  for (let start = 0; start < bytes.length; start += 8) {
    let word = sixtyFour();
    for (let at = start; at < Math.min(start + 8, bytes.length); at += 1) {
      bytes[at] = Number(word & 255n);
      word >>= 8n;
    }
  }
  if (a % 8) bytes[bytes.length - 1]! &= (1 << a % 8) - 1;
}

/** The members of a set, ascending. */
export function members(bytes: Uint8Array): number[] {
  const found: number[] = [];
  for (let x = 0; x < 8 * bytes.length; x += 1) if (has(bytes, x)) found.push(x);
  return found;
}

export function hexadecimal(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function reportText(layout: Layout, bytes: Uint8Array): string {
  if (!("outputs" in layout)) return hexadecimal(bytes);
  return String(numberOf(bytes)).padStart(String(layout.outputs - 1).length, "0");
}
