import type { Context } from "../context.ts";

/**
 * Runs work until it ends or the user stops it (Ctrl-C, or another stop signal). Resolves with the exit code that a shell gives to a
 * program that was stopped this way.
 */
export async function untilStopped(
  context: Context,
  work: (stop: StopSignal) => Promise<number>,
): Promise<number> {
  const controller = new AbortController();
  let code: number | undefined;
  const stop = (exitCode: number): void => {
    code ??= exitCode;
    controller.abort();
  };
  const undo = context.onStop(stop);
  try {
    return await work({ signal: controller.signal, stop });
  } catch (error) {
    // The work ends with the signal's reason, or with an error that the signal caused.
    if (!controller.signal.aborted) throw error;
    return code ?? 0;
  } finally {
    undo();
    controller.abort();
  }
}

export interface StopSignal {
  readonly signal: AbortSignal;
  /** Ends it from inside: a key was pressed. */
  readonly stop: (exitCode: number) => void;
}
