/** Every way in which a request can fail, as any caller sees it. A closed set: each front door maps all of it. */
export type ErrorCode =
  | "invalid_argument" // a value is not what the schema of the request allows
  | "unprocessable" // the schema allows the value, but the request cannot mean anything: a document cannot be read
  | "not_found"
  | "already_exists"
  | "unauthenticated" // the credential is missing or wrong: send another one
  | "permission_denied"
  | "conflict" // the state does not allow it: read it again and decide again
  | "unschedulable" // no registered node or cluster can run this job: request less, or add a node
  | "compacted" // the requested revision is no longer retained: list again, then watch from there
  | "exhausted" // a limit was reached: try later or request less
  | "unavailable" // the peer or the server cannot answer now
  | "internal";

interface Details {
  readonly cause?: unknown;
  readonly field?: string | undefined;
  readonly revision?: number | undefined;
  /** The text already says where, as a list of several problems does. */
  readonly saysWhere?: boolean;
}

/** The only error class: what is wrong, and where. Only this class joins the two into a message. */
export class AppError extends Error {
  readonly code: ErrorCode;
  /** The path of the input at fault, as the caller wrote it: "jobs[3].env.PATH". */
  readonly field: string | undefined;
  /** The problem, without the path. */
  readonly problem: string;
  /** Of a watch that ended: the revision to resume from. */
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

  /** Anything thrown, as an AppError. Any other error is a bug in Busbar: `internal`. */
  static from(error: unknown, doing: string): AppError {
    return error instanceof AppError ? error : new AppError("internal", doing, { cause: error });
  }

  /** An error from another process, whose message already includes the path. */
  static received(code: ErrorCode, message: string, details: Details): AppError {
    const start = startOf(details.field);
    return message.startsWith(start)
      ? new AppError(code, message.slice(start.length), details)
      : new AppError(code, message, { ...details, saysWhere: true });
  }

  /** The same error with another code. */
  as(code: ErrorCode): AppError {
    const { problem, cause, field, revision } = this;
    return new AppError(code, problem, { cause, field, revision, saysWhere: this.#saysWhere });
  }

  /** The same error at another path; undefined: it concerns the input as a whole. */
  at(field: string | undefined): AppError {
    const { code, problem, cause, revision } = this;
    return new AppError(code, problem, { cause, field, revision, saysWhere: this.#saysWhere });
  }
}

const startOf = (field: string | undefined): string =>
  field === undefined || field === "" ? "" : `${field}: `;

/** Shorthand for the most common rejection: `field` is wrong, `message` says what would be right. */
export const invalid = (field: string, problem: string): AppError =>
  new AppError("invalid_argument", problem, { field });

/**
 * The request follows its schema and still cannot be executed: values contradict each other, or name a missing object. No schema can
 * express this.
 */
export const unprocessable = (field: string, problem: string): AppError =>
  new AppError("unprocessable", problem, { field });

/** The same rejection from the reader of a document in a request; the request's schema does not describe the document. */
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

/** The whole chain of causes in one line, each cause once: "read job 7: open store: EACCES". */
export function describeChain(error: unknown): string {
  const links: string[] = [];
  let at: unknown = error;
  while (at !== undefined && at !== null && links.length < 10) {
    links.push(at instanceof Error ? at.message : JSON.stringify(at));
    at = at instanceof Error ? at.cause : undefined;
  }
  return links.join(": ");
}

/** The same rejection with its path in the caller's words. Other errors stay unchanged. */
export const withField = (error: unknown, rename: (field: string) => string): unknown =>
  error instanceof AppError && error.field !== undefined ? error.at(rename(error.field)) : error;

/** The same rejection from the reader of a part, whose paths begin inside that part. */
export function insideField(error: unknown, outer: string): unknown {
  if (!(error instanceof AppError)) return error;
  return error.at(error.field === undefined ? outer : `${outer}.${error.field}`);
}

/**
 * The same rejection for a caller who did not write the prefix: a caller who sends one job does not know it as "jobs[0]", alone or before
 * the name of a field.
 */
export function withoutFieldPrefix(error: unknown, prefix: string): unknown {
  if (!(error instanceof AppError) || error.field === undefined) return error;
  if (`${error.field}.` === prefix) return error.at(undefined);
  return error.field.startsWith(prefix) ? error.at(error.field.slice(prefix.length)) : error;
}
