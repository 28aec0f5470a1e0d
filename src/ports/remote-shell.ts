import type { AppError } from "../lib/errors.ts";

/** The output of a command, as text: the wire carries nothing else, not even the exit code. */
export interface Executed {
  readonly stdout: string;
  readonly stderr: string;
}

export interface ExecOptions {
  /** The far end has accepted the command and begins. May come late, even after the end, or not at all. */
  readonly onAccepted?: () => void;
  /** `exec` rejects with `unavailable` when the command has not ended by then; the command itself continues. */
  readonly timeoutMs?: number;
}

/**
 * A machine that we reach only through a program of another system. That program (the far end) runs any
 * command that we send and returns its output.
 *
 * - `exec` runs a program with its arguments, found by PATH, without a shell. It resolves once, when the
 *   far end first reports the end; it ignores later reports. It rejects with `unavailable` when the link ends
 *   before that: then it is unknown whether the command ran, or still runs.
 *   Any number of commands may run at once; a slow one does not delay the others.
 * - `isThere` resolves to whether the far end answers, within a few seconds.
 * - `closed` aborts when the link is over, for whatever reason; a far end that reconnects has
 *   another link.
 * - `close` ends the link and sends the far end the reason.
 */
export interface RemoteShell {
  /** The name that the far end gives itself on this link; for logs. */
  readonly id: string;
  /** The address of the far end, without the port. */
  readonly address: string;
  readonly closed: AbortSignal;
  exec(argv: readonly string[], options?: ExecOptions): Promise<Executed>;
  isThere(): Promise<boolean>;
  close(reason: AppError): void;
}
