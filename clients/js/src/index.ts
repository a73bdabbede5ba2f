/**
 * The user's side of a collection under local differential privacy: from a value to its report. Reports are drawn exactly, by comparisons of whole numbers with
 * random words of the platform's cryptographic generator; docs/report-format.md describes all of it.
 */
export { Client, type Submission } from "./client.js";
export { Memo, webStorage, type MemoStorage } from "./memo.js";
export { Study, type StudySubmission } from "./study.js";
export { send, type Receipt, type SendOptions } from "./send.js";
export { canonical, decimal, fingerprint } from "./canonical.js";
export { bucket } from "./draw.js";
export { SottovoceError, type Code } from "./error.js";
export { cryptographicWords, type Words } from "./words.js";
