import { Client, type Submission } from "./client.js";
import { sums } from "./draw.js";
import { outside, refuse } from "./error.js";
import { list, size, text, type Fields } from "./fields.js";
import { send, type Receipt, type SendOptions } from "./send.js";
import { chosen, cryptographicWords, type Words } from "./words.js";

/** A report for one collection of a study. */
export interface StudySubmission extends Submission {
  collection: string;
}

interface Question {
  name: string;
  answers: number;
  input(answer: string | number): number;
}

interface Collection {
  name: string;
  questions: Question[];
  client: Client;
}

/** Several questions, and the collections that ask them. */
export class Study {
  /** Whether a person answers one collection, drawn at random, or all. */
  readonly strategy: "sample" | "split" | "joint";
  readonly #questions: Question[];
  readonly #collections: Collection[];
  readonly #sums: bigint[];
  readonly #limit: number;
  readonly #words: Words;

  /** A published study (parsed JSON). `words` are for tests alone. */
  constructor(published: unknown, words: Words = cryptographicWords()) {
    const study = (published ?? {}) as Fields;
    if (study["format"] !== "sottovoce study" || study["version"] !== 1) refuse("its format or version is unknown");
    const strategy = text(study["strategy"]);
    if (strategy !== "sample" && strategy !== "split" && strategy !== "joint") refuse("its strategy is unknown");
    this.strategy = strategy;
    this.#questions = list(study["questions"]).map(question);
    const collections = list(study["collections"]) as Fields[];
    this.#collections = collections.map((entry) => this.#collection(entry, words));
    this.#sums = strategy === "sample" ? sums(collections.map((entry) => entry["words"])) : [];
    this.#limit = size(((study["limits"] ?? {}) as Fields)["reports"] ?? 1000);
    this.#words = words;
  }

  /** The clients of the collections, by name. */
  get clients(): ReadonlyMap<string, Client> {
    return new Map(this.#collections.map(({ name, client }) => [name, client]));
  }

  /** The reports on a person's answers, which must be complete: one, or one for each collection. */
  answer(answers: Readonly<Record<string, string | number>>): StudySubmission[] {
    const inputs = new Map(
      this.#questions.map(({ name, input }) => [name, Object.hasOwn(answers, name) ? input(answers[name]!) : outside()]),
    );
    const reporting = this.strategy === "sample" ? [this.#collections[chosen(this.#sums, this.#words())]!] : this.#collections;
    return reporting.map(({ name, questions, client }) => {
      // The last question runs fastest.
      const cell = questions.reduce((cell, question) => cell * question.answers + inputs.get(question.name)!, 0);
      return { collection: name, ...client.identified(client.reportOn(cell)) };
    });
  }

  /** Sends reports, those of each collection to its place below `base`. */
  async send(base: string, reports: readonly StudySubmission[], options: SendOptions = {}): Promise<Map<string, Receipt>> {
    const receipts = new Map<string, Receipt>();
    for (const { name, client } of this.#collections) {
      const own = reports.filter(({ collection }) => collection === name);
      if (own.length === 0) continue;
      const url = `${base.replace(/\/$/, "")}/collections/${encodeURIComponent(name)}/reports`;
      receipts.set(name, await send(url, client.fingerprint, own, { limit: this.#limit, ...options }));
    }
    return receipts;
  }

  #collection(entry: Fields, words: Words): Collection {
    const questions = list(entry["questions"]).map(
      (name) => this.#questions.find((question) => question.name === name) ?? refuse("a collection asks an unknown question"),
    );
    const client = new Client(entry["published"], words);
    const cells = questions.reduce((cells, question) => cells * question.answers, 1);
    if (cells !== client.inputs) refuse("a collection has another number of inputs than its questions have answers");
    return { name: text(entry["name"]), questions, client };
  }
}

function question(value: unknown): Question {
  const object = (value ?? {}) as Fields;
  const name = text(object["name"]);
  if (object["bins"] === undefined) {
    const labels = list(object["labels"]).map(text);
    const inputs = new Map(labels.map((label, x) => [label, x]));
    if (inputs.size !== labels.length) refuse("two labels are equal");
    return { name, answers: labels.length, input: (answer) => (typeof answer === "string" ? inputs.get(answer) : undefined) ?? outside() };
  }
  const edges = list(object["bins"]).map(edge);
  if (edges.some((edge, i) => i > 0 && !(edges[i - 1]! < edge))) refuse("the edges of bins do not increase");
  return { name, answers: size(edges.length - 1), input: (answer) => bin(edges, answer) };
}

function edge(value: unknown): number {
  if (value === "inf" || value === "-inf") return value === "inf" ? Infinity : -Infinity;
  return typeof value === "number" ? value : refuse("an edge of a bin is not a number");
}

/** A number on an edge is in the bin above it; the last bin contains both its ends. */
function bin(edges: number[], answer: string | number): number {
  const number = typeof answer === "string" && /^-?\d+(\.\d+)?$/.test(answer) ? Number(answer) : answer;
  if (typeof number !== "number" || !Number.isFinite(number)) return outside();
  const above = edges.filter((edge) => edge <= number).length;
  if (above === edges.length && edges[above - 1] === number) return above - 2;
  return above > 0 && above < edges.length ? above - 1 : outside();
}
