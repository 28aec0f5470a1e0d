import type { Command } from "commander";
import {
  parseSchedule,
  parseScheduleFile,
  parseWatts,
  type ScheduleSpec,
} from "../../core/model/node/schedule-spec.ts";
import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Context, EdgeFlags } from "../context.ts";
import { positiveNumber, wholeNumber } from "../flags.ts";
import { nodeName } from "../service/services.ts";

export interface EdgeOptions {
  readonly simulateEdges?: number;
  readonly site?: string;
  readonly powerSchedule?: string;
  readonly power?: number;
  readonly speedup?: number;
}

export function addEdgeFlags(command: Command): void {
  command
    .option(
      "--simulate-edges <n>",
      "simulate this many edges with power instead: nodes that use energy and run no commands",
      wholeNumber("--simulate-edges", { min: 1, max: limits.simulatedEdgesMax }),
    )
    .option(
      "--power <watts>",
      "run shares of jobs with energy, with this power, e.g. 100W",
      (text: string) => parseWatts(text, "--power"),
    )
    .option(
      "--site <name>",
      "the cluster of the edges, and the prefix of their names",
      nodeName("--site"),
    )
    .option(
      "--power-schedule <schedule>",
      "power over time: seed:<n> draws 5, 10, 22 or 37 W every few minutes, <n> is a constant number of watts, or a file of lines like 10m 50W (default of simulated edges: seed:1)",
    )
    .option(
      "--speedup <factor>",
      "let the time of simulated edges pass this many times faster (default: 1)",
      positiveNumber("--speedup"),
    );
}

/** The values of `--power` and `--power-schedule`; undefined: none. */
export async function toSchedule(
  context: Context,
  { power, powerSchedule }: EdgeOptions,
): Promise<ScheduleSpec | undefined> {
  const flag = "--power-schedule";
  if (power !== undefined && powerSchedule !== undefined) {
    throw invalid(flag, "cannot be combined with --power");
  }
  if (power !== undefined) return { kind: "constant", watts: power };
  if (powerSchedule === undefined) return undefined;
  if (/^(seed:|\d+$)/.test(powerSchedule)) return parseSchedule(powerSchedule, flag);
  const file = await context
    .readInput(powerSchedule, limits.scheduleBytesMax)
    .catch(() => undefined);
  // It is neither a schedule nor a readable file.
  if (file === undefined) return parseSchedule(powerSchedule, flag);
  return parseScheduleFile(file.toString("utf8"), flag);
}

/** undefined: the agent runs no edges. */
export function toEdgeFlags(
  { simulateEdges: edges, site, speedup }: EdgeOptions,
  schedule: ScheduleSpec = { kind: "seed", seed: 1 },
): EdgeFlags | undefined {
  if (edges !== undefined) {
    if (site === undefined) throw invalid("--site", "is missing: name the site of the edges");
    return { edges, site, schedule, speedup: speedup ?? 1 };
  }
  const given = Object.entries({ site, speedup });
  const [name] = given.find(([, value]) => value !== undefined) ?? [];
  if (name !== undefined) throw invalid(`--${name}`, "needs --simulate-edges beside it");
  return undefined;
}
