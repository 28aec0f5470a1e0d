import type { AppError } from "../lib/errors.ts";

/** What a command wrote, as far as its wire carries it: text. Its exit code it does not tell. */
export interface Executed {
  readonly stdout: string;
  readonly stderr: string;
}

export interface ExecOptions {
  /** The far end has taken it and begins. May come late, even after the end, or not at all. */
  readonly onAccepted?: () => void;
  /** After this without an end it rejects with `unavailable`; what runs there goes on. */
  readonly timeoutMs?: number;
}

/**
 * A machine that is reached only through somebody else's program there, which runs whatever it is
 * told to and sends back what that wrote.
 *
 * - `exec` runs a program with its arguments, found by PATH, without a shell. It resolves when the
 *   far end tells that it has ended, once, whatever is told again later. It rejects with
 *   `unavailable` when the link ends before that: then nobody knows whether it ran, or still runs.
 *   Any number may be under way at once; one that takes long holds up no other.
 * - `isThere` resolves to whether the far end answers, within a few seconds.
 * - `closed` aborts when the link is over, for whatever reason; a far end that comes back has
 *   another link.
 * - `close` ends the link and tells the far end why.
 */
export interface RemoteShell {
  /** What the far end calls itself on this link; for logs. */
  readonly id: string;
  /** Where it is, without the port. */
  readonly address: string;
  readonly closed: AbortSignal;
  exec(argv: readonly string[], options?: ExecOptions): Promise<Executed>;
  isThere(): Promise<boolean>;
  close(reason: AppError): void;
}
