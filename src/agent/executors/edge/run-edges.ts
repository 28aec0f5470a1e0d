import { createHash } from "node:crypto";
import type { ScheduleSpec } from "../../../core/model/node/schedule-spec.ts";
import { limits } from "../../../limits.ts";
import type { Logger } from "../../../ports/logger.ts";
import { createAgent } from "../../agent.ts";
import { readAgentKey } from "../../identity.ts";
import { createSharedConnect } from "../../link/shared-link.ts";
import type { RunAgentOptions } from "../../run-agent.ts";
import { readBootId } from "../../proc.ts";
import { EdgeExecutor } from "./edge-executor.ts";
import { PowerSchedule } from "./power-schedule.ts";

export interface RunEdgesOptions extends Pick<
  RunAgentOptions,
  "labels" | "loss" | "linkTimes" | "directory" | "version" | "clock" | "random" | "logger"
> {
  readonly server: string;
  /** Their cluster, and the prefix of their names. */
  readonly site: string;
  readonly edges: number;
  readonly schedule: ScheduleSpec;
  readonly speedup: number;
}

/**
 * Simulates many edges in this process until `signal` fires: each is a node of its own with power by a schedule. Throws
 * `permission_denied` when the server refuses one of them for good.
 */
export async function runEdges(options: RunEdgesOptions, signal: AbortSignal): Promise<void> {
  const { site, edges, schedule, speedup, directory, version = "unknown", ...rest } = options;
  const { server, clock, random, labels, loss, linkTimes } = rest;
  const logger = quiet(rest.logger);
  const secret = readAgentKey(directory, random);
  const connect = createSharedConnect(server);
  // Nothing outlives this process: for the server each start is a restart of the machine.
  const bootId = `${readBootId()}-${random.token(8)}`;
  const executors: EdgeExecutor[] = [];
  const changes: (() => void)[] = [];
  const running = Array.from({ length: edges }, (_, edge) => {
    const name = `${site}-${edge}`;
    const executor = new EdgeExecutor({
      clock,
      schedule: new PowerSchedule(schedule, edge),
      speedup,
    });
    executors.push(executor);
    const agent = createAgent({
      name,
      cluster: site,
      labels,
      loss,
      linkTimes,
      version,
      bootId,
      executor,
      connect,
      clock,
      random,
      logger,
      agentKey: createHash("sha256").update(`${secret} ${name}`).digest("hex"),
      capacity: {},
      power: () => executor.power(),
    });
    changes.push(followPower(executor, () => agent.powerChanged(), clock));
    return agent.run(signal);
  });
  const ticking = every(limits.edgeTellMs, clock, () => {
    for (const executor of executors) executor.tell();
  });
  rest.logger.info({ edges, site, speedup }, "simulates edges");
  try {
    await Promise.all(running);
  } finally {
    ticking();
    for (const stop of changes) stop();
    for (const executor of executors) await executor.close();
  }
}

/** Does not log that each of thousands of edges is connected. */
const quiet = (logger: Logger): Logger => ({
  debug: (fields, text) => logger.debug(fields, text),
  info: (fields, text) => logger.debug(fields, text),
  warn: (fields, text) => logger.warn(fields, text),
  error: (fields, text) => logger.error(fields, text),
});

/** Calls back at each change of the edge's power. Returns a function that ends this. */
function followPower(
  executor: EdgeExecutor,
  onChange: () => void,
  clock: RunEdgesOptions["clock"],
): () => void {
  const delayMs = executor.msToNextChange();
  if (delayMs === undefined) return () => undefined;
  let stop = clock.after(Math.min(Math.ceil(delayMs), limits.timerMsMax), () => {
    onChange();
    stop = followPower(executor, onChange, clock);
  });
  return () => stop();
}

function every(delayMs: number, clock: RunEdgesOptions["clock"], run: () => void): () => void {
  let cancel = clock.after(delayMs, function again(): void {
    run();
    cancel = clock.after(delayMs, again);
  });
  return () => cancel();
}
