import type { Context } from "../context.ts";

/**
 * Runs work until it ends or the user stops it (Ctrl-C, or another stop signal). Resolves with the exit
 * code that a shell gives to a program that was stopped so.
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
  const forget = context.onStop(stop);
  try {
    return await work({ signal: controller.signal, stop });
  } catch (error) {
    // The work ends by the signal's reason, or by whatever the signal broke.
    if (!controller.signal.aborted) throw error;
    return code ?? 0;
  } finally {
    forget();
    controller.abort();
  }
}

export interface StopSignal {
  readonly signal: AbortSignal;
  /** Ends it from inside: a key was pressed. */
  readonly stop: (exitCode: number) => void;
}
