// The platform's own SHA-256 is there in secure contexts only, and answers later; a fingerprint is short.

/** The first 32 binary digits after the point of the roots of the first primes. */
function digits(root: number, count: number): number[] {
  const found: number[] = [];
  for (let n = 2; found.length < count; n += 1) {
    let prime = true;
    for (let d = 2; d * d <= n; d += 1) if (n % d === 0) prime = false;
    if (prime) found.push(((n ** (1 / root) % 1) * 2 ** 32) | 0);
  }
  return found;
}

const START = digits(2, 8);
const ROUNDS = digits(3, 64);

const turned = (word: number, by: number) => (word >>> by) | (word << (32 - by));

export function sha256(message: Uint8Array): Uint8Array {
  const length = (((message.length + 8) >> 6) + 1) << 6;
  const padded = new DataView(new ArrayBuffer(length));
  new Uint8Array(padded.buffer).set(message);
  padded.setUint8(message.length, 0x80);
  padded.setUint32(length - 8, Math.floor(message.length / 2 ** 29));
  padded.setUint32(length - 4, message.length << 3);
  const state = [...START];
  const w = new Int32Array(64);
  for (let start = 0; start < length; start += 64) {
    for (let i = 0; i < 16; i += 1) w[i] = padded.getInt32(start + 4 * i);
    for (let i = 16; i < 64; i += 1) {
      const [s, t] = [w[i - 15]!, w[i - 2]!];
      const [low, high] = [turned(s, 7) ^ turned(s, 18) ^ (s >>> 3), turned(t, 17) ^ turned(t, 19) ^ (t >>> 10)];
      w[i] = (w[i - 16]! + low + w[i - 7]! + high) | 0;
    }
    let [a, b, c, d, e, f, g, h] = state as [number, number, number, number, number, number, number, number];
    for (let i = 0; i < 64; i += 1) {
      const one = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
      const first = (h + one + ((e & f) ^ (~e & g)) + ROUNDS[i]! + w[i]!) | 0;
      const zero = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
      const second = (zero + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] = (state[i]! + word) | 0));
  }
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, i) => digest.setInt32(4 * i, word));
  return new Uint8Array(digest.buffer);
}
