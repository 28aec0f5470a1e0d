/** Every way a request can fail, as seen by any caller. Closed set: front doors map all of it. */
export type ErrorCode =
  | "invalid_argument" // a value is not what the schema of the request allows
  | "unprocessable" // the schema allows it, but no request can mean it: a document cannot be read
  | "not_found"
  | "already_exists"
  | "unauthenticated" // the credential is missing or wrong: show another one
  | "permission_denied"
  | "conflict" // the state does not allow it: refresh and decide again
  | "unschedulable" // no registered node or cluster can run this job: ask for less, or add what could
  | "compacted" // the revision asked for is no longer kept: list again, then watch from there
  | "exhausted" // a limit was reached: try later or ask for less
  | "unavailable" // the peer or the server cannot answer now
  | "internal";

interface Details {
  readonly cause?: unknown;
  readonly field?: string | undefined;
  readonly revision?: number | undefined;
  /** The text itself says where, as a list of several problems does. */
  readonly saysWhere?: boolean;
}

/** The one error class: what is wrong, and where. The two are put together here and nowhere else. */
export class AppError extends Error {
  readonly code: ErrorCode;
  /** The path of the input at fault, as the caller wrote it: "jobs[3].env.PATH". */
  readonly field: string | undefined;
  /** What is wrong, without the path. */
  readonly problem: string;
  /** Of a watch that ended: where it can be resumed. */
  readonly revision: number | undefined;

  readonly #saysWhere: boolean;

  constructor(code: ErrorCode, problem: string, details: Details = {}) {
    const { cause, field, revision, saysWhere = false } = details;
    const text = saysWhere ? problem : startOf(field) + problem;
    super(text, cause === undefined ? undefined : { cause });
    this.name = "AppError";
    this.code = code;
    this.field = field;
    this.problem = problem;
    this.revision = revision;
    this.#saysWhere = saysWhere;
  }

  /** Anything thrown, as an AppError; any other error is a bug of ours: internal. */
  static from(error: unknown, doing: string): AppError {
    return error instanceof AppError ? error : new AppError("internal", doing, { cause: error });
  }

  /** From another process, which sent the whole message and repeats the path. */
  static received(code: ErrorCode, message: string, details: Details): AppError {
    const start = startOf(details.field);
    return message.startsWith(start)
      ? new AppError(code, message.slice(start.length), details)
      : new AppError(code, message, { ...details, saysWhere: true });
  }

  /** The same under another code. */
  as(code: ErrorCode): AppError {
    const { problem, cause, field, revision } = this;
    return new AppError(code, problem, { cause, field, revision, saysWhere: this.#saysWhere });
  }

  /** The same at another path; undefined: of the input as a whole. */
  at(field: string | undefined): AppError {
    const { code, problem, cause, revision } = this;
    return new AppError(code, problem, { cause, field, revision, saysWhere: this.#saysWhere });
  }
}

const startOf = (field: string | undefined): string =>
  field === undefined || field === "" ? "" : `${field}: `;

/** Shorthand for the commonest refusal: `field` is wrong, `message` says what would be right. */
export const invalid = (field: string, problem: string): AppError =>
  new AppError("invalid_argument", problem, { field });

/**
 * The request has the form that its schema describes, and cannot be followed: values contradict each
 * other, or name what is not there. No schema can say so.
 */
export const unprocessable = (field: string, problem: string): AppError =>
  new AppError("unprocessable", problem, { field });

/** The same refusal by a reader of a document in a request, which the request's schema does not describe. */
export const ofDocument = (error: unknown): unknown =>
  error instanceof AppError && error.code === "invalid_argument"
    ? error.as("unprocessable")
    : error;

/** Runs a reader of a document that is part of a request. */
export function readingDocument<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw ofDocument(error);
  }
}

/** The whole chain of causes in one line, each link once: "read job 7: open store: EACCES". */
export function describeChain(error: unknown): string {
  const links: string[] = [];
  let at: unknown = error;
  while (at !== undefined && at !== null && links.length < 10) {
    links.push(at instanceof Error ? at.message : JSON.stringify(at));
    at = at instanceof Error ? at.cause : undefined;
  }
  return links.join(": ");
}

/** The same refusal with its path in the caller's words. Other errors stay as they are. */
export const withField = (error: unknown, rename: (field: string) => string): unknown =>
  error instanceof AppError && error.field !== undefined ? error.at(rename(error.field)) : error;

/** The same refusal by a reader of a part, whose paths begin inside of it. */
export function insideField(error: unknown, outer: string): unknown {
  if (!(error instanceof AppError)) return error;
  return error.at(error.field === undefined ? outer : `${outer}.${error.field}`);
}

/**
 * The same refusal for a caller who did not write the prefix: one job sent alone is not "jobs[0]"
 * to whoever sent it, neither as a whole nor before the name of a field.
 */
export function withoutFieldPrefix(error: unknown, prefix: string): unknown {
  if (!(error instanceof AppError) || error.field === undefined) return error;
  if (`${error.field}.` === prefix) return error.at(undefined);
  return error.field.startsWith(prefix) ? error.at(error.field.slice(prefix.length)) : error;
}
