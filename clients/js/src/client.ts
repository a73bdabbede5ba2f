import { belonging } from "./belonging.js";
import { lengthOf, reportText } from "./bytes.js";
import { fingerprint } from "./canonical.js";
import { drawing, type Drawing } from "./draw.js";
import { SottovoceError, outside, refuse } from "./error.js";
import { fields, list, size, text } from "./fields.js";
import { cryptographicWords, type Words } from "./words.js";

/** A report that can be sent, with an id that it keeps until it is acknowledged. */
export interface Submission {
  id: string;
  report: string;
}

/** Makes reports of one published protocol. */
export class Client {
  /** The protocol's fingerprint. */
  readonly fingerprint: string;
  /** The number of inputs. */
  readonly inputs: number;
  /** The names of the inputs, if they have any. */
  readonly labels: readonly string[] | undefined;
  readonly #names: Map<string, number> | undefined;
  readonly #drawing: Drawing;
  readonly #words: Words;

  /** The client of a published protocol (parsed JSON); one that must not be used is refused. `words` are for tests alone. */
  constructor(published: unknown, words: Words = cryptographicWords()) {
    const { format, version } = (published ?? {}) as Record<string, unknown>;
    // A newer version may have other keys.
    if (format !== "sottovoce protocol" || version !== 1) refuse("its format or version is unknown");
    const keys = ["format", "version", "fingerprint", "protocol", "inputs", "labels?", "realised_ldp", "draw"];
    const object = fields(published, keys);
    fields(object["realised_ldp"], ["value", "exact"]);
    this.fingerprint = text(object["fingerprint"]);
    if (fingerprint(object["protocol"]) !== this.fingerprint) refuse("its fingerprint is not that of its specification");
    this.inputs = size(object["inputs"]);
    this.#drawing = drawing(object["draw"]);
    this.labels = object["labels"] === undefined ? undefined : list(object["labels"]).map(text);
    this.#names = this.labels && new Map(this.labels.map((label, x) => [label, x]));
    const named = this.#names?.size ?? this.inputs;
    if (this.#drawing.inputs !== this.inputs || named !== this.inputs || (this.labels?.length ?? named) !== named) {
      refuse("its inputs, labels and draw do not belong together");
    }
    belonging(object);
    this.#words = words;
  }

  /** The input that a value names: a label, letter by letter, or where there are no labels the number of an input, also in decimal digits. */
  input(value: string | number): number {
    if (this.#names) return (typeof value === "string" ? this.#names.get(value) : undefined) ?? outside();
    const digits = typeof value === "string" && /^(0|[1-9]\d{0,8})$/.test(value);
    const x = digits ? Number(value) : value;
    return typeof x === "number" && Number.isInteger(x) && x >= 0 && x < this.inputs ? x + 0 : outside();
  }

  /** The text of a report on a value. */
  report(value: string | number): string {
    return this.reportOn(this.input(value));
  }

  /** The text of a report on an input. */
  reportOn(x: number): string {
    if (!(Number.isInteger(x) && x >= 0 && x < this.inputs)) outside();
    return this.#drawn(this.#drawing, x);
  }

  /** A report on a value, with a random id. */
  submission(value: string | number): Submission {
    return this.identified(this.report(value));
  }

  /** A report with a random id. */
  identified(report: string): Submission {
    const half = () => this.#words().toString(16).padStart(16, "0");
    return { id: half() + half(), report };
  }

  /** The permanent answer of memoised rounds: the first step of a composition. */
  permanent(value: string | number): number {
    const x = this.input(value);
    return this.#first().row(x, this.#words);
  }

  /** How many permanent answers there are. */
  get answers(): number {
    return this.#first().rows;
  }

  /** A round's report on a permanent answer: the other steps. */
  round(answer: number): string {
    const { after } = this.#drawing;
    if (!after || !(Number.isInteger(answer) && answer >= 0 && answer < this.answers)) {
      throw new SottovoceError("storage", "the stored answer is none of this protocol");
    }
    return this.#drawn(after, answer);
  }

  #first() {
    return this.#drawing.first ?? refuse("memoised rounds need a composition: the permanent answer, then the round");
  }

  #drawn(sampler: { layout: Drawing["layout"]; report: Drawing["report"] }, x: number): string {
    const bytes = new Uint8Array(lengthOf(sampler.layout));
    sampler.report(x, this.#words, bytes);
    return reportText(sampler.layout, bytes);
  }
}
