import { join } from "node:path";

import { AppError } from "../lib/errors.ts";
import type { Clock } from "../ports/clock.ts";
import type { Executor } from "../ports/executor.ts";
import type { Logger } from "../ports/logger.ts";
import type { Random } from "../ports/random.ts";
import { createAgent } from "./agent.ts";
import type { Discovery } from "./discovery/discovery.ts";
import type { LauncherKind, ProcessExecutorOptions } from "./executors/process/process-executor.ts";
import { createProcessExecutor } from "./executors/process/process-executor.ts";
import { createGrpcConnect } from "./grpc-link.ts";
import { readAgentKey, restoreAgentKey } from "./identity.ts";
import { readBootId } from "./proc.ts";

export interface RunAgentOptions {
  /** host:port */
  readonly server: string;
  readonly name: string;
  readonly cluster: string;
  readonly capacity: Readonly<Record<string, number>>;
  readonly labels: Readonly<Record<string, string>>;
  /** How processes are started; default: native. */
  readonly launcher?: LauncherKind;
  /** Variables for every task. */
  readonly taskEnv?: Readonly<Record<string, string>> | undefined;
  /** Keeps the agent's key, and its runs and their output. */
  readonly directory: string;
  readonly version?: string;
  /** What is known of the machine; without it the server knows the capacity only. */
  readonly discovery?: Discovery | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/**
 * Runs an agent until `signal` fires; its tasks go on and the next agent over the same directory
 * finds them. Throws `conflict` when another agent uses the directory and `permission_denied` when
 * the server refuses this one for good.
 */
export async function runAgent(options: RunAgentOptions, signal: AbortSignal): Promise<void> {
  const {
    server,
    directory,
    version = "unknown",
    launcher = "native",
    taskEnv,
    discovery,
    ...rest
  } = options;
  const { clock, random, logger } = rest;
  const executor = await openExecutor(directory, { clock, logger, launcher, taskEnv });
  try {
    const agentKey = readAgentKey(directory, random);
    const agent = createAgent({
      ...rest,
      version,
      executor: {
        ...executor,
        async probe() {
          await executor.probe?.();
          restoreAgentKey(directory, agentKey);
        },
      },
      agentKey,
      bootId: readBootId(),
      connect: createGrpcConnect(server),
      ...(discovery === undefined ? {} : { machineFacts: () => discovery.json }),
    });
    discovery?.start(() => agent.factsChanged());
    await agent.run(signal);
  } finally {
    discovery?.close();
    await executor.close();
  }
}

/** What the system says of a directory that is full, read-only or not ours names neither it nor a cure. */
export async function openExecutor(
  directory: string,
  how: Omit<ProcessExecutorOptions, "directory">,
): Promise<Executor> {
  try {
    return await createProcessExecutor({ directory: join(directory, "process"), ...how });
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    const what =
      `cannot use the agent's data directory ${directory}: make room on its disk, ` +
      "make it writable for this user, or choose another one";
    throw new AppError("unavailable", what, { cause });
  }
}
