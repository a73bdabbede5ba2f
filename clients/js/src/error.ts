/** What went wrong, for programs. */
export type Code =
  /** A value that is none of the protocol's. */
  | "domain"
  /** A published protocol or study that must not be used. */
  | "published"
  /** A storage with something else in it than this client has stored. */
  | "storage"
  /** A service that refuses, or gives no answer. */
  | "service";

/** An error of this package. No message has a value or a report in it. */
export class SottovoceError extends Error {
  readonly code: Code;
  /** The status of a service's answer, if there was one. */
  readonly status: number | undefined;

  constructor(code: Code, message: string, status?: number) {
    super(message);
    this.name = "SottovoceError";
    this.code = code;
    this.status = status;
  }
}

export function refuse(what: string): never {
  throw new SottovoceError("published", `the published protocol cannot be used: ${what}`);
}

export function outside(): never {
  throw new SottovoceError("domain", "the value is outside the protocol's domain");
}
