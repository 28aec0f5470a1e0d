import { type Command, Option } from "commander";
import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { addClusterFlags, type ClusterOptions, toClusterFlags } from "./agent-cluster.ts";
import {
  type AgentFlags,
  type EnforceFlag,
  type KeepOutputFlag,
  type LauncherChoice,
  type logLevels,
  lostPolicies,
} from "../context.ts";
import {
  bandwidth,
  awayTime,
  keyValue,
  notEmpty,
  oneOf,
  positiveNumber,
  resource,
  size,
  wholeNumber,
} from "../flags.ts";
import { resourcesOf } from "../submit/job-flags.ts";
import { addEdgeFlags, type EdgeOptions, toEdgeFlags, toSchedule } from "./edge-flags.ts";
import { cgroupFlag, enforceFlag } from "./enforce-flags.ts";
import { imageLimitFlag } from "./image-limit-flag.ts";
import { keepOutputFlag } from "./keep-output-flag.ts";
import { addLinkFlags, type LinkOptions, toLinkTimes } from "./link-flags.ts";
import {
  launcherFlag,
  logLevelFlag,
  nodeName,
  nodeNameOf,
  taskEnvFlag,
} from "../service/services.ts";
import type { Session, Shell } from "../session.ts";

interface AgentOptions extends ClusterOptions, LinkOptions, EdgeOptions {
  readonly name?: string;
  readonly cluster: string;
  readonly data?: string;
  readonly cpu?: number;
  readonly memory?: number;
  readonly gpu?: number;
  readonly resource?: Readonly<Record<string, number>>;
  readonly label?: Readonly<Record<string, string>>;
  readonly discovery: boolean;
  readonly launcher: LauncherChoice;
  readonly enforce: EnforceFlag;
  readonly cgroup?: string;
  readonly taskEnv: Readonly<Record<string, string>>;
  readonly keepOutput?: KeepOutputFlag;
  readonly imageLimit?: number;
  readonly lostAfter?: number;
  readonly bandwidth?: number;
  readonly exitWithParent?: true;
  readonly logLevel?: (typeof logLevels)[number];
}

const HELP = `
Connects to --server, and needs no open port of its own. With several addresses, or a name with
several addresses, it tries the next when one does not answer.

With --executor it is the agent of a whole pull cluster: it registers the cluster with its graph,
accepts tasks that are offered to it, runs them, and reports the state of the cluster.

Examples:
  busbar agent --server control.example:7071 --name rack1-7 --label disk=ssd
  busbar agent --cpu 8 --memory 32GiB --gpu 2 --resource license=1
  busbar agent --server control.example:7071 --on-lost keep --lost-after 2h
  busbar agent --simulate-edges 10 --site edge-g0 --power-schedule seed:7 --speedup 20
  busbar agent --cluster blue --executor slurm --partition batch --cost 3.5
  busbar agent --server control.example:7071 --cluster site-a --executor busbar --to 127.0.0.1:7071`;

export function declareAgent(command: Command, shell: Shell): void {
  command
    .option(
      "--name <node>",
      "name this node (default: this machine's name; <cluster>-agent for a cluster)",
      nodeName("--name"),
    )
    .option("--cluster <name>", "join this cluster", nodeName("--cluster"), "default")
    .option(
      "--data <dir>",
      "store the journal and outputs here (default: ./busbar-agent-<name>)",
      notEmpty("--data"),
    )
    .option("--cpu <n>", "offer this many cpus (default: all)", positiveNumber("--cpu"))
    .option("--memory <size>", "offer this much memory (default: all)", size("--memory"))
    .option(
      "--gpu <n>",
      "offer this many gpus (default: those found)",
      wholeNumber("--gpu", { min: 0, max: 1_000_000 }),
    )
    .option("--resource <name=n>", "offer any other resource (repeatable)", resource("--resource"))
    .option("--label <key=value>", "label the node (repeatable)", keyValue("--label"))
    .option(
      "--bandwidth <size>",
      "send at most this much output per second; limits nothing else (default: no limit)",
      bandwidth("--bandwidth"),
    )
    .option(
      "--no-discovery",
      "do not discover the machine: offer all cpus and memory, and report nothing else",
      true,
    )
    .addOption(launcherFlag())
    .addOption(enforceFlag())
    .addOption(cgroupFlag())
    .addOption(taskEnvFlag(shell.context))
    .addOption(keepOutputFlag())
    .addOption(imageLimitFlag())
    .addOption(
      new Option(
        "--on-lost <policy>",
        "when the node is lost: run its tasks elsewhere, keep them for it, or fail them (default: requeue)",
      )
        .choices(lostPolicies)
        .argParser(oneOf("--on-lost", lostPolicies)),
    )
    .option(
      "--lost-after <duration>",
      "how long it may be disconnected before it is lost (default: the server's)",
      awayTime("--lost-after"),
    )
    .addOption(new Option("--exit-with-parent", "stop when standard input ends").hideHelp())
    .addOption(logLevelFlag());
  addLinkFlags(command, " (default: the server's)");
  addClusterFlags(command);
  addEdgeFlags(command);
  command.addHelpText("after", HELP).action((flags: AgentOptions) =>
    shell.run(command, async (session) => {
      const given = await toAgentFlags(session, flags, command);
      await announceAgent(session, given);
      await session.context.services.agent(given);
      return 0;
    }),
  );
}

/** The server may be away, or refuse it: this prints its identity, and its log shows when it is connected. */
async function announceAgent(session: Session, flags: AgentFlags): Promise<void> {
  const { name, cluster, data, clusterAgent, simulates } = flags;
  const server = flags.servers.join(",");
  const text = `${whoOf(flags)} to ${server}; stop it with Ctrl-C.`;
  const executor = clusterAgent === undefined ? {} : { executor: clusterAgent.executor };
  const edges = simulates === undefined ? {} : { edges: simulates.edges };
  await session.print({ name, cluster, server, data, ...executor, ...edges }, () => text);
}

function whoOf({ name, cluster, clusterAgent, simulates }: AgentFlags): string {
  if (simulates !== undefined) {
    return `${simulates.edges} simulated edges of site ${simulates.site} connect`;
  }
  return clusterAgent === undefined
    ? `node ${name} of cluster ${cluster} connects`
    : `agent ${name} of cluster ${cluster} (${clusterAgent.executor}) connects`;
}

async function toAgentFlags(
  { servers, context }: Session,
  flags: AgentOptions,
  command: Command,
): Promise<AgentFlags> {
  const clusterAgent = await toClusterFlags(context, flags, command);
  const linkTimes = toLinkTimes(flags, flags.lostAfter ?? flags.lease);
  const machine = nodeNameOf(context);
  const schedule = await toSchedule(context, flags);
  const simulates = toEdgeFlags(flags, schedule);
  if ((simulates ?? schedule) !== undefined && clusterAgent !== undefined) {
    const flag = simulates === undefined ? "--power" : "--simulate-edges";
    throw invalid(flag, "cannot be combined with --executor");
  }
  const name =
    simulates?.site ??
    flags.name ??
    (clusterAgent === undefined ? machine : agentNameOf(flags.cluster));
  return {
    servers,
    name,
    cluster: simulates?.site ?? flags.cluster,
    ...(simulates === undefined
      ? schedule === undefined
        ? {}
        : { power: schedule }
      : { simulates }),
    data: flags.data ?? `./busbar-agent-${name}`,
    resources: resourcesOf(flags),
    labels: { ...flags.label },
    discovery: flags.discovery,
    launcher: flags.launcher,
    enforce: flags.enforce,
    ...(flags.cgroup === undefined ? {} : { cgroup: flags.cgroup }),
    taskEnv: flags.taskEnv,
    ...(flags.keepOutput === undefined ? {} : { keepOutput: flags.keepOutput }),
    ...(flags.imageLimit === undefined ? {} : { imageLimit: flags.imageLimit }),
    ...(clusterAgent === undefined ? lossOf(flags) : {}),
    ...(flags.bandwidth === undefined ? {} : { bandwidthBytes: flags.bandwidth }),
    ...(linkTimes === undefined ? {} : { linkTimes }),
    exitWithParent: flags.exitWithParent === true,
    ...(flags.logLevel === undefined ? {} : { logLevel: flags.logLevel }),
    ...(clusterAgent === undefined ? {} : { clusterAgent: { ...clusterAgent, machine } }),
  };
}

function lossOf({ onLost, lostAfter }: AgentOptions): Pick<AgentFlags, "loss"> {
  if (onLost === undefined && lostAfter === undefined) return {};
  return {
    loss: {
      ...(onLost === undefined ? {} : { onLost }),
      ...(lostAfter === undefined ? {} : { lostAfterMs: lostAfter }),
    },
  };
}

const agentNameOf = (cluster: string): string =>
  `${cluster.slice(0, limits.nameLengthMax - "-agent".length)}-agent`;
