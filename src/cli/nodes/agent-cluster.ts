import { type Command, Option } from "commander";
import { invalid } from "../../lib/errors.ts";
import { formatDuration } from "../../lib/units.ts";
import { limits } from "../../limits.ts";
import {
  type ClusterFlags,
  type Context,
  executorKinds,
  type ExecutorKind,
  type LossFlags,
} from "../context.ts";
import { address, awayTime, duration, notEmpty, oneOf } from "../flags.ts";
import { collecting } from "../single-flags.ts";

/** Flags of an agent of a whole cluster, as written. */
export interface ClusterOptions {
  readonly executor?: ExecutorKind;
  readonly take?: ClusterFlags["take"];
  readonly refresh?: number;
  readonly cost?: number;
  readonly lease?: number;
  readonly onLost?: LossFlags["onLost"];
  readonly graph?: string;
  readonly updateGraph?: true;
  readonly partition?: string;
  readonly account?: string;
  readonly schedulerArg?: readonly string[];
  readonly to?: string;
}

export function addClusterFlags(command: Command): void {
  command
    .optionsGroup("For a whole cluster:")
    .addOption(
      new Option(
        "--executor <kind>",
        "be the agent of a whole cluster, and run its tasks with this executor",
      )
        .choices(executorKinds)
        .argParser(oneOf("--executor", executorKinds)),
    )
    .option(
      "--take <rule>",
      "accept tasks that can start now, or let up to N tasks queue in the scheduler below: queue=N (default: now)",
      takeRule,
    )
    .option(
      "--refresh <duration>",
      `report the cluster's state this often (default: ${formatDuration(limits.clusterRefreshMs)}; for --executor busbar ${formatDuration(limits.siteRefreshMs)})`,
      refresh,
    )
    .option("--cost <n>", "report this as cost_per_node_hour", cost)
    .option(
      "--lease <duration>",
      "how long it may be disconnected before its tasks count as lost (default: as for nodes)",
      awayTime("--lease"),
    )
    .option(
      "--graph <file>",
      "register this graph instead of the discovered one",
      notEmpty("--graph"),
    )
    .option("--update-graph", "replace the graph even if another principal registered it")
    .option("--to <address>", "the Busbar below, for --executor busbar", address("--to"))
    .option(
      "--partition <name>",
      "submit to this partition, queue, or cluster of the Busbar below",
      notEmpty("--partition"),
    )
    .option(
      "--account <name>",
      "submit in the name of this account, or group of the Busbar below",
      notEmpty("--account"),
    )
    .option(
      "--scheduler-arg <argument>",
      "add this option to each submission, like --qos=low (repeatable)",
      collecting(schedulerArg),
    )
    .optionsGroup("Options:");
}

/** undefined: it is an agent of a node. Rejects contradicting flags. */
export async function toClusterFlags(
  context: Context,
  options: ClusterOptions,
  command: Command,
): Promise<Omit<ClusterFlags, "machine"> | undefined> {
  const { executor } = options;
  refuse(command, executor);
  if (executor === undefined) return undefined;
  if (executor === "process" && options.take?.kind === "queue") {
    throw invalid("--take", "the process executor has no queue; leave it at now");
  }
  const graph = options.graph === undefined ? undefined : await readGraph(context, options.graph);
  return {
    executor,
    take: options.take ?? { kind: "now" },
    refreshMs:
      options.refresh ?? (executor === "busbar" ? limits.siteRefreshMs : limits.clusterRefreshMs),
    leaseMs: options.lease ?? 0,
    // A site continues by itself, however long it is disconnected.
    onLost: options.onLost ?? (executor === "busbar" ? "keep" : "requeue"),
    updatesGraph: options.updateGraph === true,
    schedulerArgs: options.schedulerArg ?? [],
    ...(options.cost === undefined ? {} : { costPerNodeHour: options.cost }),
    ...(graph === undefined ? {} : { graph }),
    ...(options.partition === undefined ? {} : { partition: options.partition }),
    ...(options.account === undefined ? {} : { account: options.account }),
    ...(options.to === undefined ? {} : { to: options.to }),
  };
}

const FOR_CLUSTERS = ["take", "refresh", "cost", "lease", "graph", "updateGraph"];
const FOR_NODES = ["lostAfter"];
const FOR_SCHEDULERS = ["partition", "account", "schedulerArg"];
const FOR_SITES = ["to"];
const NOT_FOR_SITES = ["schedulerArg", "taskEnv"];
const FOR_MACHINES = [
  "cpu",
  "memory",
  "gpu",
  "resource",
  "launcher",
  "enforce",
  "cgroup",
  "imageLimit",
];

function refuse(command: Command, executor: ExecutorKind | undefined): void {
  const without = (names: readonly string[], why: string): void => {
    const given = names.find((name) => command.getOptionValueSource(name) === "cli");
    const flag = command.options.find((option) => option.attributeName() === given)?.long;
    if (flag !== undefined && flag !== null) throw invalid(flag, why);
  };
  if (executor === undefined) {
    const why = "is for agents of a whole cluster; add --executor";
    return without([...FOR_CLUSTERS, ...FOR_SCHEDULERS, ...FOR_SITES], why);
  }
  if (command.getOptionValueSource("cluster") !== "cli") {
    throw invalid("--cluster", "must name the cluster of this agent");
  }
  without(FOR_NODES, "is for agents of nodes; for an agent of a cluster use --lease");
  if (executor === "busbar") {
    without(NOT_FOR_SITES, "cannot be combined with --executor busbar: set it on the agents below");
    if (command.getOptionValueSource("to") !== "cli") {
      throw invalid("--to", "is missing: the address of the Busbar below, like 127.0.0.1:7071");
    }
  } else without(FOR_SITES, "is for --executor busbar");
  if (executor === "process") {
    return without(FOR_SCHEDULERS, "is for executors with a scheduler below, not for processes");
  }
  return without(
    FOR_MACHINES,
    `cannot be combined with --executor ${executor}, which discovers its capacity itself`,
  );
}

async function readGraph(context: Context, file: string): Promise<string> {
  return (await context.readInput(file, limits.documentBytesMax)).toString("utf8");
}

function takeRule(text: string): ClusterFlags["take"] {
  if (text === "now") return { kind: "now" };
  const tasksMax = Number(/^queue=(\d{1,9})$/.exec(text)?.[1] ?? 0);
  if (tasksMax >= 1 && tasksMax <= limits.takenRunsMax) return { kind: "queue", tasksMax };
  const what = `"${text}" is neither now nor queue=N, with N from 1 to ${limits.takenRunsMax}`;
  throw invalid("--take", what);
}

const schedulerArg = (text: string, sofar: readonly string[] | undefined): readonly string[] => [
  ...(sofar ?? []),
  notEmpty("--scheduler-arg")(text),
];

function cost(text: string): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 0 && value <= Number.MAX_SAFE_INTEGER) return value;
  throw invalid("--cost", `"${text}" is not a number from 0`);
}

function refresh(text: string): number {
  const ms = duration("--refresh")(text);
  if (ms >= limits.clusterRefreshMsMin) return ms;
  throw invalid("--refresh", `"${text}" is too short; at least a second`);
}
