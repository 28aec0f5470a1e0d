/** Every way a request can fail, as seen by any caller. Closed set: front doors map all of it. */
export type ErrorCode =
  | "invalid_argument"
  | "not_found"
  | "already_exists"
  | "permission_denied"
  | "conflict" // the state does not allow it: refresh and decide again
  | "unschedulable" // nothing there is could ever run it: ask for less, or add what could
  | "compacted" // the revision asked for is no longer kept: list again, then watch from there
  | "exhausted" // a limit was reached: try later or ask for less
  | "unavailable" // the peer or the server cannot answer now
  | "internal";

/** The one error class. `field` names the input at fault, as the caller wrote it. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly field: string | undefined;
  /** Of a watch that ended: where it can be resumed. */
  readonly revision: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      readonly cause?: unknown;
      readonly field?: string;
      readonly revision?: number;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "AppError";
    this.code = code;
    this.field = options.field;
    this.revision = options.revision;
  }

  /** Anything thrown, as an AppError; what is not one already is our own mistake: internal. */
  static from(error: unknown, doing: string): AppError {
    return error instanceof AppError ? error : new AppError("internal", doing, { cause: error });
  }
}

/** Shorthand for the commonest refusal: `field` is wrong, `message` says what would be right. */
export const invalid = (field: string, message: string): AppError =>
  new AppError("invalid_argument", `${field}: ${message}`, { field });

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

/**
 * The same refusal for a caller who did not write the prefix: one job sent alone is not "jobs[0]"
 * to whoever sent it, neither as a whole nor before the name of a field.
 */
export function withoutFieldPrefix(error: unknown, prefix: string): unknown {
  if (!(error instanceof AppError) || error.field === undefined) return error;
  const { code, message, field } = error;
  if (`${field}.` === prefix) {
    const text = message.startsWith(`${field}: `) ? message.slice(field.length + 2) : message;
    return new AppError(code, text, { cause: error.cause });
  }
  if (!field.startsWith(prefix)) return error;
  const text = message.startsWith(prefix) ? message.slice(prefix.length) : message;
  return new AppError(code, text, { cause: error.cause, field: field.slice(prefix.length) });
}
