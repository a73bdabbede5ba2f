/** A source of 64-bit words, all equally likely. */
export type Words = () => bigint;

export const ALL = 1n << 64n;
export const MASK = ALL - 1n;

const KEPT = 64;

/** Words of the platform's cryptographic generator. There is no other source: without one this throws. */
export function cryptographicWords(): Words {
  const words = new BigUint64Array(KEPT);
  let used = KEPT;
  return () => {
    if (used === KEPT) {
      globalThis.crypto.getRandomValues(words);
      used = 0;
    }
    const word = words[used]!;
    // A word that led to a report is not kept.
    words[used] = 0n;
    used += 1;
    return word;
  };
}

/** A number below `bound`, all exactly equally likely. */
export function below(words: Words, bound: number): number {
  const wide = BigInt(bound);
  // So many low halves would favour some numbers.
  const refused = (ALL - wide) % wide;
  for (;;) {
    const product = words() * wide;
    if ((product & MASK) >= refused) return Number(product >> 64n);
  }
}

/** 64 independent events with `threshold` of 2^64 words each: a number for each bit is compared with the threshold, digit by digit, all at once. */
export function sixtyFour(threshold: bigint, words: Words): bigint {
  if (threshold === ALL) return MASK;
  let open = MASK;
  let happened = 0n;
  for (let digits = threshold; open !== 0n && digits !== 0n; digits = (digits << 1n) & MASK) {
    const word = words();
    if (digits >> 63n) {
      happened |= open & ~word;
      open &= word;
    } else {
      open &= ~word;
    }
  }
  return happened;
}

/** Which outcome a word chooses, from the sums of words up to each outcome. */
export function chosen(sums: bigint[], word: bigint): number {
  let [low, high] = [0, sums.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (word < sums[middle]!) high = middle;
    else low = middle + 1;
  }
  return low;
}
