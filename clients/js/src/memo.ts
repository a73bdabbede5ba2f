import type { Client, Submission } from "./client.js";
import { SottovoceError } from "./error.js";

/** Where permanent answers are kept, on the user's device alone: it tells which values were reported on. `set` returns, or its promise is fulfilled, when the text is stored for good. */
export interface MemoStorage {
  get(key: string): string | null | undefined | Promise<string | null | undefined>;
  set(key: string, text: string): void | Promise<void>;
}

/** A `MemoStorage` of `localStorage` or the like. */
export function webStorage(storage: { getItem(key: string): string | null; setItem(key: string, text: string): void }): MemoStorage {
  return { get: (key) => storage.getItem(key), set: (key, text) => storage.setItem(key, text) };
}

/**
 * Rounds with memoised noise: the first step of a composition is drawn once for each value and remembered, and each round draws the other steps from it. So
 * all rounds together tell no more about a value than its permanent answer does.
 */
export class Memo {
  readonly #client: Client;
  readonly #storage: MemoStorage;
  readonly #name: string;
  #last: Promise<unknown> = Promise.resolve();

  /** `name` tells apart questions with the same protocol, which must not share a permanent answer. */
  constructor(client: Client, storage: MemoStorage, name: string) {
    if (typeof name !== "string" || name === "") throw new SottovoceError("storage", "a memo needs the name of its question");
    this.#client = client;
    this.#storage = storage;
    this.#name = name;
    // Refuses what is no composition now rather than in the first round.
    void client.answers;
  }

  /** The text of a round's report. */
  report(value: string | number): Promise<string> {
    // One after another: two rounds at once must not draw two permanent answers.
    const report = this.#last.then(() => this.#report(value));
    this.#last = report.catch(() => undefined);
    return report;
  }

  /** A round's report with a random id. */
  async submission(value: string | number): Promise<Submission> {
    return this.#client.identified(await this.report(value));
  }

  async #report(value: string | number): Promise<string> {
    const key = `sottovoce ${this.#client.fingerprint} ${this.#client.input(value)} ${this.#name}`;
    return alone(key, () => this.#round(key, value));
  }

  async #round(key: string, value: string | number): Promise<string> {
    const kept: unknown = await this.#storage.get(key);
    if (kept !== null && kept !== undefined) {
      // Something else in its place is not drawn anew: that would spend privacy again, unseen.
      if (typeof kept !== "string" || !/^(0|[1-9]\d{0,8})$/.test(kept)) throw new SottovoceError("storage", "the stored answer is none of this protocol");
      return this.#client.round(Number(kept));
    }
    const answer = this.#client.permanent(value);
    await this.#storage.set(key, String(answer));
    return this.#client.round(answer);
  }
}

/** Runs `task` while no other tab or worker runs one under this name, where the platform has such locks. */
function alone<T>(name: string, task: () => Promise<T>): Promise<T> {
  const locks = (globalThis.navigator as { locks?: LockManager } | undefined)?.locks;
  return locks ? (locks.request(name, task) as Promise<T>) : task();
}
