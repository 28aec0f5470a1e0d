import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Logger } from "../../ports/logger.ts";

export interface StartupStep {
  /** The text after "waiting for ": "the database in /data to open". */
  readonly what: string;
  /** The progress of a step that may take long; such a step has no time limit. */
  readonly progress?: () => string;
  /** What the operator should check when the step does not end in time. */
  readonly advice: string;
}

/**
 * Waits for one step of a start. Operators should not have to guess what a start waits for: after a moment
 * the step logs it, and repeats that. A step with a time limit fails in the end.
 */
export async function startupStep<T>(
  { what, progress, advice }: StartupStep,
  work: Promise<T>,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<T> {
  const expired = Promise.withResolvers<never>();
  const beganAtMs = clock.nowMs();
  const tell = (): void => {
    const seconds = Math.round((clock.nowMs() - beganAtMs) / 1_000);
    logger.warn(
      { seconds },
      `waiting for ${what}${progress === undefined ? "" : `: ${progress()}`}`,
    );
    cancelNotice = clock.after(limits.startupRepeatMs, tell);
  };
  const expire = (): void =>
    expired.reject(
      new AppError(
        "unavailable",
        `waited ${limits.startupStepMsMax / 1_000} s for ${what}; ${advice}`,
      ),
    );
  let cancelNotice = clock.after(limits.startupNoticeMs, tell);
  const cancelLimit =
    progress === undefined ? clock.after(limits.startupStepMsMax, expire) : () => undefined;
  try {
    return await Promise.race([work, expired.promise]);
  } finally {
    cancelNotice();
    cancelLimit();
  }
}
