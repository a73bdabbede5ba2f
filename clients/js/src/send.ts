import type { Submission } from "./client.js";
import { SottovoceError } from "./error.js";

/** What became of a batch: `results` has `counted`, `repeated` or a reason of refusal for each report. */
export interface Receipt {
  counted: number;
  repeated: number;
  refused: number;
  results: string[];
}

export interface SendOptions {
  /** Reports in a batch. */
  limit?: number;
  /** How often a batch is tried. */
  attempts?: number;
  /** Milliseconds before the second try; each following wait is twice as long. */
  wait?: number;
  /** Instead of the platform's. */
  fetch?: typeof globalThis.fetch;
  signal?: AbortSignal;
}

const later = (status: number) => status === 408 || status === 429 || status >= 500;

/** The longest wait, in milliseconds: timers overflow above 2^31. */
const LONGEST = 3_600_000;

/** Sends reports of one protocol, batch by batch. A batch without an answer is repeated with the same ids, which count once. */
export async function send(
  url: string,
  fingerprint: string,
  reports: readonly Submission[],
  options: SendOptions = {},
): Promise<Receipt> {
  const total: Receipt = { counted: 0, repeated: 0, refused: 0, results: [] };
  let limit = options.limit ?? 1000;
  if (!Number.isInteger(limit) || limit < 1) throw new SottovoceError("service", "a batch has at least one report");
  for (let start = 0; start < reports.length; ) {
    const batch = reports.slice(start, start + limit).map(({ id, report }) => ({ id, report }));
    let receipt: Receipt;
    try {
      receipt = await sent(url, JSON.stringify({ fingerprint, reports: batch }), options);
    } catch (error) {
      if (!(error instanceof SottovoceError && error.status === 413 && batch.length > 1)) throw error;
      limit = Math.ceil(batch.length / 2);
      continue;
    }
    if (!Array.isArray(receipt.results) || receipt.results.length !== batch.length) {
      throw new SottovoceError("service", "the service's answer is not a receipt");
    }
    for (const key of ["counted", "repeated", "refused"] as const) total[key] += receipt[key];
    total.results.push(...receipt.results);
    start += batch.length;
  }
  return total;
}

async function sent(url: string, body: string, options: SendOptions): Promise<Receipt> {
  const { attempts = 6, wait = 500, fetch = globalThis.fetch, signal } = options;
  for (let attempt = 1; ; attempt += 1) {
    let status: number | undefined;
    let asked = 0;
    try {
      const answer = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
        cache: "no-store",
        credentials: "omit",
        referrerPolicy: "no-referrer",
        ...(signal ? { signal } : {}),
      });
      status = answer.status;
      if (status === 200) return (await answer.json()) as Receipt;
      asked = 1000 * (Number(answer.headers.get("retry-after")) || 0);
    } catch (error) {
      // An answer that was cut off is none: what it said is asked for again.
      if (signal?.aborted) throw error;
      status = status === 200 ? undefined : status;
    }
    if ((status !== undefined && !later(status)) || attempt >= attempts) {
      throw new SottovoceError("service", status ? `the service refuses with status ${status}` : "the service does not answer", status);
    }
    const pause = Math.min(LONGEST, Math.max(asked, wait * 2 ** (attempt - 1)));
    await new Promise((done) => setTimeout(done, pause));
  }
}
