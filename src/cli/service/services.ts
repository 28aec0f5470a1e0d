import { type Command, Option } from "commander";
import { isLoopback, parseAddress, REST_PORT, SERVER_DEFAULT } from "../../lib/address.ts";
import { invalid } from "../../lib/errors.ts";
import { formatDuration } from "../../lib/units.ts";
import { limits } from "../../limits.ts";
import {
  type Context,
  launcherKinds,
  type Listening,
  logLevels,
  nodePolicies,
  type ServerFlags,
  type UpFlags,
} from "../context.ts";
import { cgroupFlag, enforceFlag } from "../nodes/enforce-flags.ts";
import { imageLimitFlag } from "../nodes/image-limit-flag.ts";
import { keepOutputFlag } from "../nodes/keep-output-flag.ts";
import { address, duration, envVariable, notEmpty, oneOf, wholeNumber } from "../flags.ts";
import {
  addGoScheduleFlags,
  type GoScheduleCommandOptions,
  takeGoSchedule,
} from "../coming-from/go-schedule-flags.ts";
import { addNexusFlags, type NexusCommandOptions, nexusOf } from "../coming-from/nexus-flags.ts";
import { addRikFlags, type RikCommandOptions, rikOf } from "../coming-from/rik-flags.ts";
import { addQuarantineFlags, checkQuarantine } from "./quarantine-flags.ts";
import {
  addKeepaliveFlag,
  addLinkFlags,
  type LinkOptions,
  toLinkTimes,
} from "../nodes/link-flags.ts";
import {
  addRainbowFlags,
  type RainbowCommandOptions,
  rainbowOf,
} from "../coming-from/rainbow-flags.ts";
import { renderListening } from "./listening.ts";
import { addStrategyFlags, type StrategyFlags, strategyOf } from "../submit/select-flags.ts";
import type { Session, Shell } from "../session.ts";
import { collecting } from "../single-flags.ts";

export function declareUp(command: Command, shell: Shell): void {
  addServerFlags(command);
  command
    .option(
      "--name <node>",
      "name this machine's node",
      nodeName("--name"),
      nodeNameOf(shell.context),
    )
    .option("--no-agent", "start no agent: run nothing on this machine", true)
    .addOption(launcherFlag())
    .addOption(enforceFlag())
    .addOption(cgroupFlag())
    .addOption(taskEnvFlag(shell.context))
    .addOption(keepOutputFlag())
    .addOption(imageLimitFlag())
    .addHelpText(
      "after",
      `
Runs until Ctrl-C. Running tasks continue, and the next \`busbar up\` finds them again.

Examples:
  busbar up
  busbar up --data /var/lib/busbar --grpc 10.0.0.5:7071 --insecure-listen`,
    )
    .action((flags: ServerOptions<UpFlags>) =>
      shell.run(command, async (session) => {
        const given = await toServerFlags(session.context, flags);
        await session.context.services.up(given, announce(session, flags.insecureListen));
        return 0;
      }),
    );
}

export function declareServer(command: Command, shell: Shell): void {
  addServerFlags(command);
  command
    .addHelpText("after", "\nExample:\n  busbar server --data /var/lib/busbar")
    .action((flags: ServerOptions<ServerFlags>) =>
      shell.run(command, async (session) => {
        const given = await toServerFlags(session.context, flags);
        await session.context.services.server(given, announce(session, flags.insecureListen));
        return 0;
      }),
    );
}

/** As written: the options of a strategy are in a file. */
type ServerOptions<Flags extends ServerFlags> = Omit<
  Flags,
  "select" | "rainbow" | "goSchedule" | "nexus" | "rik" | "linkTimes"
> &
  RikCommandOptions &
  StrategyFlags &
  RainbowCommandOptions &
  LinkOptions &
  NexusCommandOptions &
  GoScheduleCommandOptions;

async function toServerFlags<Flags extends ServerFlags>(
  context: Context,
  flags: ServerOptions<Flags>,
) {
  checkSeed(flags.policy, flags.policySeed);
  checkListen(flags);
  checkQuarantine(flags);
  const { goSchedule, others: mine } = takeGoSchedule(flags);
  const { select: strategy, selectOptions, ...rest } = mine;
  const { rainbow: at, rainbowCert, rainbowKey, rainbowCa, rainbowPlaintext, ...further } = rest;
  const { heartbeat, silence, ...notLinks } = further;
  const {
    nexus: tree,
    nexusInsecure,
    nexusRest,
    nexusRestOrigin,
    nexusRestOidc,
    ...notNexus
  } = notLinks;
  const { nexusExternalScheduler, ...notTree } = notNexus;
  const more = { nexusInsecure, nexusRest, nexusRestOrigin, nexusRestOidc, nexusExternalScheduler };
  const nexus = nexusOf({ nexus: tree, ...more });
  const { rik: workers, rikController, rikRest, rikSecretFile, ...notAll } = notTree;
  const { rikInsecure, rikForget, ...others } = notAll;
  const rik = rikOf({
    rik: workers,
    rikController,
    rikRest,
    rikSecretFile,
    rikInsecure,
    rikForget,
  });
  const given: LinkOptions = {
    ...(heartbeat === undefined ? {} : { heartbeat }),
    ...(silence === undefined ? {} : { silence }),
  };
  const linkTimes = toLinkTimes(given, flags.nodeLostAfter);
  const rainbow = rainbowOf({
    rainbow: at,
    rainbowCert,
    rainbowKey,
    rainbowCa,
    rainbowPlaintext,
  });
  const select = await strategyOf(
    {
      ...(strategy === undefined ? {} : { select: strategy }),
      ...(selectOptions === undefined ? {} : { selectOptions }),
    },
    context,
  );
  return {
    ...others,
    ...(linkTimes === undefined ? {} : { linkTimes }),
    ...(select === undefined ? {} : { select }),
    ...(rainbow === undefined ? {} : { rainbow }),
    ...(goSchedule === undefined ? {} : { goSchedule }),
    ...(nexus === undefined ? {} : { nexus }),
    ...(rik === undefined ? {} : { rik }),
  };
}

/** Until there are users and certificates, anyone who reaches these ports may do everything. */
function checkListen({
  http,
  grpc,
  insecureListen,
}: {
  readonly http: string;
  readonly grpc: string;
  readonly insecureListen?: boolean | undefined;
}): void {
  if (insecureListen === true) return;
  for (const [flag, at] of [
    ["--http", http],
    ["--grpc", grpc],
  ] as const) {
    if (isLoopback(parseAddress(at, flag).host)) continue;
    throw invalid(
      flag,
      `at ${at} other machines could run any command here: there are no users and no encryption yet; ` +
        "listen on 127.0.0.1 and connect through a tunnel (ssh -L), or allow it with " +
        "--insecure-listen",
    );
  }
}

function checkSeed(policy: string, seed: number | undefined): void {
  if (seed === undefined || policy === "random") return;
  throw invalid("--policy-seed", `--policy ${policy} is not random; add --policy random`);
}

function addServerFlags(command: Command): void {
  command
    .option("--data <dir>", "store the data here", notEmpty("--data"), "./busbar-data")
    .option(
      "--http <address>",
      "serve REST and its docs here",
      address("--http"),
      `127.0.0.1:${REST_PORT}`,
    )
    .option("--grpc <address>", "serve gRPC here", address("--grpc"), SERVER_DEFAULT)
    .option(
      "--insecure-listen",
      "allow other machines to reach --http and --grpc: each of them can run any command here",
    )
    .option(
      "--host-name <name>",
      "also answer REST requests to this host name or address (repeatable)",
      collecting(hostName),
    )
    .addOption(
      new Option(
        "--node-lost-after <duration>",
        "run a node's tasks elsewhere when it is disconnected for this long",
      )
        .argParser(atLeastASecond("--node-lost-after"))
        .default(limits.nodeLostAfterMs, formatDuration(limits.nodeLostAfterMs)),
    )
    .addOption(
      new Option("--keep-ended <tasks>", "remove the oldest ended jobs beyond this many tasks")
        .argParser(wholeNumber("--keep-ended", { min: 0, max: limits.finishedTasksMax }))
        .default(limits.finishedTasksMax),
    )
    .addOption(
      new Option("--keep-ended-for <duration>", "and those that ended longer ago than this")
        .argParser(atLeastASecond("--keep-ended-for"))
        .default(limits.finishedAgeMsMax, formatDuration(limits.finishedAgeMsMax)),
    )
    .addOption(
      new Option(
        "--policy <name>",
        "place tasks far apart, close together, on nodes in turn, or at random",
      )
        .choices(nodePolicies)
        .default("spread")
        .argParser(oneOf("--policy", nodePolicies)),
    )
    .addOption(
      new Option(
        "--policy-seed <number>",
        "with --policy random: repeat the same choices (default: a new seed, which the log shows)",
      ).argParser(wholeNumber("--policy-seed", { min: 0, max: 2 ** 32 - 1 })),
    );
  addQuarantineFlags(command);
  addLinkFlags(command, ` (default: ${formatDuration(limits.heartbeatIntervalMs)})`);
  addKeepaliveFlag(command);
  addRainbowFlags(command);
  addGoScheduleFlags(command);
  addNexusFlags(command);
  addRikFlags(command);
  addStrategyFlags(command, "choose between clusters by this strategy (default: least-loaded)");
  command
    .option(
      "--rainbow-secret-file <file>",
      "rainbow clients register clusters with the secret in this file",
      notEmpty("--rainbow-secret-file"),
    )
    .option(
      "--rainbow-global-token-file <file>",
      "and submit to every cluster with the token in this file (default: none)",
      notEmpty("--rainbow-global-token-file"),
    )
    .option(
      "--rainbow-visibility <duration>",
      "after a job is shown to one receiver, hide it from others for this long (default: show to all)",
      duration("--rainbow-visibility"),
    )
    .addOption(logLevelFlag());
}

export const launcherFlag = (): Option =>
  new Option(
    "--launcher <kind>",
    "start processes with helpers in C, with helpers in Perl, or by forking the agent; " +
      "if one cannot be used, the next one is",
  )
    .choices(launcherKinds)
    .default("native")
    .argParser(oneOf("--launcher", launcherKinds));

export const taskEnvFlag = ({ env }: Context): Option =>
  new Option(
    "--task-env <key=value>",
    "set this variable for every task; KEY alone takes the agent's value (repeatable)",
  )
    .default({}, "none")
    .argParser(envVariable("--task-env", env));

export const logLevelFlag = (): Option =>
  new Option(
    "--log-level <level>",
    "log this and worse to standard error (default: info; warn for `up` on a terminal)",
  )
    .choices(logLevels)
    .argParser(oneOf("--log-level", logLevels));

const hostName = (text: string, sofar: readonly string[] = []): readonly string[] => {
  if (/^([\w.-]+|\[?[0-9A-Fa-f:.]+\]?)$/.test(text)) return [...sofar, text];
  throw invalid("--host-name", `${JSON.stringify(text)} is not a name or address without a port`);
};

const announce =
  (session: Session, isInsecure: boolean | undefined) =>
  (at: Listening): Promise<void> => {
    const listening: Listening = isInsecure === true ? { ...at, isInsecure } : at;
    return session.print(listening, (page) => renderListening(listening, page));
  };

const atLeastASecond =
  (flag: string) =>
  (text: string): number => {
    const ms = duration(flag)(text);
    if (ms >= 1_000) return ms;
    throw invalid(flag, `"${text}" is too short; a node needs at least a second to reconnect`);
  };

export const nodeName =
  (flag: string) =>
  (text: string): string => {
    if (/^[\w][\w.-]*$/.test(text) && text.length <= limits.nameLengthMax) return text;
    throw invalid(flag, `"${text}" is not a name of letters, digits, ".", "-" and "_"`);
  };

/** The machine's host name, as far as it is a valid node name. */
export function nodeNameOf({ hostname }: Pick<Context, "hostname">): string {
  const name = hostname.replaceAll(/[^\w.-]/g, "-").replace(/^[.-]+/, "");
  return name === "" ? "local" : name.slice(0, limits.nameLengthMax);
}
