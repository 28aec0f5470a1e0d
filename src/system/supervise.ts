import type { ChildProcess } from "node:child_process";
import { AppError } from "../lib/errors.ts";
import type { Clock } from "../ports/clock.ts";
import type { Logger } from "../ports/logger.ts";

const DELAY_MS_MIN = 200;
const DELAY_MS_MAX = 10_000;
const WINDOW_MS = 60_000;
const RESTARTS_PER_WINDOW_MAX = 5;
const KILL_AFTER_MS = 10_000;

export interface Supervision {
  readonly name: string;
  start(): ChildProcess;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Keeps a child process running until the signal fires, then ends it and resolves when it has ended. Gives up a child that dies again and
 * again: its fault will not heal by itself, and an operator must see it.
 */
export async function supervise(supervision: Supervision, signal: AbortSignal): Promise<void> {
  const { name, clock, logger } = supervision;
  const deathsMs: number[] = [];
  for (;;) {
    const how = await runToEnd(supervision.start(), clock, signal);
    if (signal.aborted) return;
    const nowMs = clock.nowMs();
    deathsMs.push(nowMs);
    while ((deathsMs[0] ?? nowMs) < nowMs - WINDOW_MS) deathsMs.shift();
    if (deathsMs.length > RESTARTS_PER_WINDOW_MAX) {
      throw new AppError(
        "internal",
        `the ${name} ended ${deathsMs.length} times within a minute, at last with ${how}`,
      );
    }
    const delayMs = Math.min(DELAY_MS_MIN * 2 ** (deathsMs.length - 1), DELAY_MS_MAX);
    logger.warn({ how, delayMs }, `the ${name} ended; starting it again`);
    await sleep(clock, delayMs, signal);
    if (signal.aborted) return;
  }
}

/** Resolves with the reason of its end in words for people: "exit code 1", "SIGKILL". */
async function runToEnd(child: ChildProcess, clock: Clock, signal: AbortSignal): Promise<string> {
  const ended = Promise.withResolvers<string>();
  child.once("error", (error) => ended.resolve(error.message)); // it could not be started
  child.once("exit", (code, by) => ended.resolve(by ?? `exit code ${code}`));
  let disarm: () => void = () => undefined;
  const stop = (): void => {
    child.kill("SIGTERM");
    disarm = clock.after(KILL_AFTER_MS, () => child.kill("SIGKILL"));
  };
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await ended.promise;
  } finally {
    signal.removeEventListener("abort", stop);
    disarm();
  }
}

const sleep = (clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const cancel = clock.after(delayMs, resolve);
    signal.addEventListener(
      "abort",
      () => {
        cancel();
        resolve();
      },
      { once: true },
    );
  });
