import { mkdirSync } from "node:fs";
import { join } from "node:path";

import type { Clock } from "../../../ports/clock.ts";
import type { Executor } from "../../../ports/executor.ts";
import type { Logger } from "../../../ports/logger.ts";
import { readBootId } from "../../proc.ts";
import type { KeptBounds } from "./kept-outputs.ts";
import { KEPT_BOUNDS } from "./kept-outputs.ts";
import { baseEnvOf } from "./launch.ts";
import { lockDirectory } from "./lock.ts";
import { createRemover } from "./remover.ts";
import { Runs } from "./runs.ts";
import type { ProcessStarter } from "./starter.ts";
import { createSpawnStarter } from "./starter.ts";

export interface ProcessExecutorOptions {
  /** Holds the journal, the runs and their output. One executor at a time. */
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly bootId?: string;
  readonly starter?: ProcessStarter;
  readonly keptBounds?: KeptBounds;
  /** The agent's own environment, with which that of the work begins. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/**
 * Runs work as processes of this machine.
 *
 *   directory/lock             who uses it
 *   directory/journal.ndjson   what to remember (see JournalEntry)
 *   directory/runs/17.3.1/     one attempt: state, stdout, stderr, script, work/, stopping
 *   directory/trash/           on its way out
 *
 * When a command ends, what it left behind in its process group is killed; work that is meant to
 * stay must call setsid. Throws `conflict` when another living agent uses the directory.
 */
export async function createProcessExecutor(options: ProcessExecutorOptions): Promise<Executor> {
  const { directory, logger } = options;
  mkdirSync(join(directory, "runs"), { recursive: true, mode: 0o700 });
  const bootId = options.bootId ?? readBootId();
  const unlock = lockDirectory(directory, bootId);
  try {
    const starter = options.starter ?? createSpawnStarter();
    const remover = createRemover(join(directory, "trash"), logger);
    const runs = new Runs({
      directory,
      clock: options.clock,
      logger,
      bootId,
      starter,
      remover,
      keptBounds: options.keptBounds ?? KEPT_BOUNDS,
      baseEnv: baseEnvOf(options.env ?? process.env),
    });
    await runs.recover();
    return {
      name: "process",
      start: (request) => runs.start(request),
      stop: (id) => runs.stop(id),
      forget: (id) => runs.forget(id),
      known: () => runs.known(),
      readOutput: (id, stream, how) => runs.readOutput(id, stream, how),
      onReport: (listener) => runs.onReport(listener),
      async close() {
        if (!runs.close()) return;
        starter.close();
        unlock();
        await remover.idle();
      },
    };
  } catch (error) {
    unlock();
    throw error;
  }
}
