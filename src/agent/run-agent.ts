import type { KeptBounds } from "./runs/ledger/kept-outputs.ts";
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { join } from "node:path";

import { AppError } from "../lib/errors.ts";
import type { Clock } from "../ports/clock.ts";
import type { Executor } from "../ports/executor.ts";
import type { Logger } from "../ports/logger.ts";
import type { Random } from "../ports/random.ts";
import { type AgentOptions, createAgent } from "./agent.ts";
import type { Discovery } from "./discovery/discovery.ts";
import { CONTAINERS } from "../core/model/node/container-facts.ts";
import { withSubsystems } from "./discovery/with-subsystems.ts";
import { Containers } from "./executors/oci/containers.ts";
import type { Enforce } from "./executors/process/cgroups/enforcement.ts";
import { imageBounds } from "./executors/oci/images/image-bounds.ts";
import type { LauncherKind, ProcessExecutorOptions } from "./executors/process/process-executor.ts";
import { createProcessExecutor } from "./executors/process/process-executor.ts";
import { createGrpcConnect } from "./link/grpc-link.ts";
import { readAgentKey, restoreAgentKey } from "./identity.ts";
import { readBootId } from "./proc.ts";
import { Servers } from "./link/servers.ts";
import type { ScheduleSpec } from "../core/model/node/schedule-spec.ts";
import type { AgentFacts } from "./agent-facts.ts";
import { OwnPower } from "./power/own-power.ts";

export interface RunAgentOptions {
  /** host:port; of several addresses, and of names with several addresses, the next one when one does not answer. */
  readonly servers: readonly string[];
  readonly name: string;
  readonly cluster: string;
  readonly capacity: Readonly<Record<string, number>>;
  readonly labels: Readonly<Record<string, string>>;
  /** When the node is lost, and what happens to its tasks then; absent: the server's defaults. */
  readonly loss?: AgentFacts["loss"];
  /** Bytes per second for outputs. */
  readonly bandwidthBytes?: number | undefined;
  /** Times of the link to the server. The server fills in absent fields. */
  readonly linkTimes?: AgentFacts["linkTimes"];
  /** How processes are started; default: native. */
  readonly launcher?: LauncherKind;
  /** Which requested limits the agent enforces; default: all that this machine supports. */
  readonly enforce?: Enforce | undefined;
  /** The control group to use instead of the agent's own. */
  readonly cgroup?: string | undefined;
  /** Variables for every task. */
  readonly taskEnv?: Readonly<Record<string, string>> | undefined;
  /** The limits of outputs of ended tasks. */
  readonly keptBounds?: KeptBounds | undefined;
  /** What one image may use of the disk; default: the usual limit. */
  readonly imageBytesMax?: number | undefined;
  /** The node's power for shares of jobs with energy; absent: it accepts none. */
  readonly powerSchedule?: ScheduleSpec | undefined;
  /** Holds the agent's key, its runs and their output. */
  readonly directory: string;
  readonly version?: string;
  /** Discovers the machine's facts; absent: the server knows only the capacity. */
  readonly discovery?: Discovery | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/**
 * Runs an agent until `signal` fires. Its tasks continue, and the next agent over the same directory
 * finds them. Throws `conflict` when another agent uses the directory and `permission_denied` when
 * the server refuses this one for good.
 */
export async function runAgent(options: RunAgentOptions, signal: AbortSignal): Promise<void> {
  const {
    servers,
    directory,
    version = "unknown",
    launcher = "native",
    taskEnv,
    keptBounds,
    imageBytesMax,
    enforce = "available",
    cgroup,
    discovery,
    powerSchedule,
    ...rest
  } = options;
  const { clock, random, logger } = rest;
  const containers = openContainers(directory, { clock, logger, taskEnv, enforce, imageBytesMax });
  const how = { clock, logger, launcher, taskEnv, enforce, cgroup, containers, keptBounds };
  const executor = await openExecutor(directory, how).catch(async (error: unknown) => {
    await containers.close();
    throw error;
  });
  const power = powerSchedule && new OwnPower(powerSchedule, clock);
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
      canHold: true,
      canAttach: executor.attach !== undefined,
      ...(power && { power: () => power.now() }),
      ...dialling(servers),
      ...(discovery === undefined
        ? {}
        : {
            machineFacts: () =>
              withSubsystems(discovery.json, {
                limits: executor.enforced ?? [],
                [CONTAINERS]: containers.facts(),
              }),
          }),
    });
    containers.onFound(() => agent.factsChanged());
    discovery?.start(() => agent.factsChanged());
    power?.follow(() => agent.powerChanged());
    await agent.run(signal);
  } finally {
    power?.close();
    discovery?.close();
    await executor.close();
  }
}

/** How an agent reaches its server. */
export function dialling(
  servers: readonly string[],
): Pick<AgentOptions, "connect" | "addressTotal"> {
  const lookUp = async (host: string): Promise<string[]> =>
    isIP(host) > 0 ? [host] : (await lookup(host, { all: true })).map(({ address }) => address);
  const all = new Servers(servers, { lookUp, dial: createGrpcConnect });
  return { connect: all.connect, addressTotal: () => all.total };
}

function openContainers(
  directory: string,
  {
    enforce,
    imageBytesMax: bytesMax = imageBounds.bytesMax,
    ...how
  }: Pick<RunAgentOptions, "clock" | "logger" | "taskEnv" | "imageBytesMax"> & {
    readonly enforce: Enforce;
  },
): Containers {
  const isWanted = (name: "memory" | "cpu"): boolean =>
    enforce === "available" || enforce.includes(name);
  return atDirectory(
    directory,
    () =>
      new Containers({
        ...how,
        directory: join(directory, "containers"),
        bootId: readBootId(),
        env: process.env,
        imageBounds: { ...imageBounds, bytesMax },
        wanted: {
          memory: isWanted("memory"),
          cpu: enforce === "available" ? "weight" : isWanted("cpu") ? "quota" : "none",
        },
      }),
  );
}

/** Adds the directory and a remedy to system errors about a full, read-only or foreign directory, which name neither. */
export async function openExecutor(
  directory: string,
  how: Omit<ProcessExecutorOptions, "directory">,
): Promise<Executor> {
  try {
    return await createProcessExecutor({ directory: join(directory, "process"), ...how });
  } catch (cause) {
    throw ofDirectory(directory, cause);
  }
}

function atDirectory<T>(directory: string, open: () => T): T {
  try {
    return open();
  } catch (cause) {
    throw ofDirectory(directory, cause);
  }
}

function ofDirectory(directory: string, cause: unknown): AppError {
  if (cause instanceof AppError) return cause;
  const what =
    `cannot use the agent's data directory ${directory}: make room on its disk, ` +
    "make it writable for this user, or choose another one with --data";
  return new AppError("unavailable", what, { cause });
}
