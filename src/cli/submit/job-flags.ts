import { basename } from "node:path";
import { type Command, Option } from "commander";
import type { JobSubmissionInit } from "../../client/messages.ts";
import { PLAIN_RULES } from "../../core/model/job/plain-fields.ts";
import { isVariableName } from "../../core/model/job/variable-names.ts";
import { visible } from "../../core/model/texts.ts";
import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Context } from "../context.ts";
import type { Session } from "../session.ts";
import {
  arraySpec,
  duration,
  envVariable,
  keyValue,
  notEmpty,
  positiveNumber,
  resource,
  size,
  wholeNumber,
} from "../flags.ts";
import { addContainerFlags, type ContainerFlags, containerOf } from "./flags/container-flags.ts";
import {
  addDependencyFlags,
  addHoldFlag,
  dependenciesOf,
  type DependencyFlags,
} from "./job-dependencies.ts";
import { directoryOf, directoryWarning } from "./flags/directory-flags.ts";
import { beginTime } from "./flags/begin-flag.ts";
import { parseDirectives, readDirectives } from "./flags/directives.ts";
import { addEntriesFlags, entriesOf, type EntriesFlags } from "./flags/entries-flags.ts";
import { addEnergyFlags, type EnergyFlags, energyOf } from "./flags/energy-flags.ts";
import { inputText } from "./flags/input-text.ts";
import { jobOptionFlags } from "./flags/sbatch-job-options.ts";
import {
  addOutputFileFlags,
  type OutputFileFlags,
  outputFilesOf,
} from "./flags/output-file-flags.ts";
import { missingSlurmVariables } from "./flags/slurm-variables.ts";
import { tellUnreadDirectives } from "./flags/unread-directives.ts";
import { addRestartFlags, type RestartFlags, restartOf } from "./flags/restart-flags.ts";
import { addRequestFlags, type RequestFlags, requestOf } from "./request-flags.ts";
import { addSelectFlags, type SelectFlags, selectionOf } from "./select-flags.ts";

type Labels = Readonly<Record<string, string>>;

/** The flags of `submit` and `run` that describe a job. */
export interface JobFlags
  extends
    DependencyFlags,
    RequestFlags,
    SelectFlags,
    EnergyFlags,
    ContainerFlags,
    EntriesFlags,
    OutputFileFlags,
    RestartFlags {
  readonly name?: string;
  readonly comment?: string;
  readonly nice?: number;
  readonly group?: string;
  readonly label?: Labels;
  readonly env?: Labels;
  readonly exportEnv?: true;
  readonly cwd?: string;
  readonly cpu?: number;
  readonly memory?: number;
  readonly gpu?: number;
  readonly resource?: Readonly<Record<string, number>>;
  readonly cluster?: string;
  readonly node?: string;
  readonly nodeLabel?: Labels;
  readonly array?: string;
  readonly priority?: number;
  readonly retries?: number;
  readonly retryBackoff?: number;
  readonly timeLimit?: number;
  readonly killGrace?: number;
  readonly queueDeadline?: number;
  readonly deadline?: number;
  readonly outputLimit?: number;
  readonly idempotencyKey?: string;
  readonly script?: string;
  readonly begin?: number;
  readonly allowUnsatisfiable?: true;
  readonly hold?: true;
}

export function addJobFlags(command: Command, context: Context): void {
  const { priorityMax, retriesMax } = limits;
  command
    .optionsGroup("What to run:")
    .option(
      "--script <file>",
      'run this script; words after it are its arguments ("-": standard input)',
    )
    .option(
      "--env <key=value>",
      "set a variable; KEY alone takes yours (repeatable)",
      envVariable("--env", context.env),
    )
    .option("--export-env", "set all your variables too (not shell functions or BUSBAR_ names)")
    .option(
      "--cwd <dir>",
      "run in this directory (default: yours where the node has it); fresh: in a new one",
      notEmpty("--cwd"),
    );
  addEntriesFlags(command);
  addContainerFlags(command);
  command
    .option(
      "--array <spec>",
      "run once for each index, e.g. 0-99, 1-9:2 or 0-3,8; 0-99%5: five at once",
      arraySpec("--array"),
    )
    .option(
      "--name <name>",
      "name the job (default: the name of the program or script)",
      notEmpty("--name"),
    )
    .option("--group <name>", "queue it in this group", notEmpty("--group"))
    .option("--comment <text>", "a comment, shown with the job")
    .option("--label <key=value>", "label the job (repeatable)", keyValue("--label"))
    .option(
      "--idempotency-key <key>",
      "the same key submits only once, however often this command is repeated",
      notEmpty("--idempotency-key"),
    )
    .optionsGroup("Where to run:")
    .option("--cpu <n>", "cpus for each task, e.g. 2 or 0.5 (default: 1)", positiveNumber("--cpu"))
    .option("--memory <size>", "memory for each task, e.g. 4GiB", size("--memory"))
    .option("--gpu <n>", "gpus for each task", wholeNumber("--gpu", { min: 1, max: 1_000_000 }))
    .option(
      "--resource <name=n>",
      "any other resource for each task (repeatable)",
      resource("--resource"),
    );
  addRequestFlags(command);
  addEnergyFlags(command);
  command
    .option("--cluster <name>", "only on this cluster", notEmpty("--cluster"))
    .option("--node <name>", "only on this node", notEmpty("--node"))
    .option(
      "--node-label <key=value>",
      "only on nodes with this label (repeatable)",
      keyValue("--node-label"),
    );
  addSelectFlags(command, "choose between clusters by this strategy (default: the server's)");
  command
    .option(
      "--allow-unsatisfiable",
      "queue the job even if no registered node or cluster can run it",
    )
    .optionsGroup("How to run:")
    .option(
      "--priority <n>",
      "tasks with a higher priority go first (default: 0)",
      wholeNumber("--priority", { min: -priorityMax, max: priorityMax }),
    )
    .option(
      "--nice <n>",
      "scheduling priority of its processes: 19 is lowest; below 0 only where agents run as root",
      wholeNumber("--nice", { min: PLAIN_RULES.nice.minimum, max: PLAIN_RULES.nice.maximum }),
    )
    .option(
      "--retries <n>",
      "retry a failed task this many times",
      wholeNumber("--retries", { min: 0, max: retriesMax }),
    )
    .option(
      "--retry-backoff <duration>",
      "wait before the first retry; doubles each time",
      duration("--retry-backoff"),
    );
  addRestartFlags(command);
  command
    .option(
      "--time-limit <duration>",
      "stop a task that runs longer, e.g. 5m",
      duration("--time-limit"),
    )
    .option(
      "--kill-grace <duration>",
      "time from TERM to KILL (default: 5s)",
      duration("--kill-grace"),
    )
    .option(
      "--begin <time>",
      "start at or after this time, or after this delay, e.g. 16:30, 2026-11-17T16:30 or 10m",
      beginTime("--begin", () => context.nowMs()),
    )
    .option(
      "--queue-deadline <duration>",
      "expire tasks that have not started after this time",
      duration("--queue-deadline"),
    )
    .addOption(
      // Its old name, before it was that of the field.
      new Option("--deadline <duration>").argParser(duration("--deadline")).hideHelp(),
    )
    .option(
      "--output-limit <size>",
      "store at most this much output per stream (default: 16MiB)",
      size("--output-limit"),
    );
  addOutputFileFlags(command);
  addDependencyFlags(command);
  command.optionsGroup("Options:");
}

/** For a job whose client is the command itself. */
export interface AttachedFields {
  readonly attach?: string;
  readonly hangUpMs?: bigint;
  readonly name?: string;
  readonly env?: Labels;
}

/** The one job that flags and words describe. */
export async function toSubmission(
  given: JobFlags,
  words: readonly string[],
  session: Pick<Session, "context" | "note">,
  attached: AttachedFields = {},
): Promise<JobSubmissionInit> {
  const { context } = session;
  checkStdin(given);
  const script =
    given.script === undefined
      ? undefined
      : inputText(await context.readInput(given.script, limits.workBytesMax), "--script");
  const flags =
    script === undefined ? given : await withDirectives(given, script, session, attached);
  const energy = energyOf(flags);
  const hasOwnCommand = energy !== undefined || flags.image !== undefined;
  if (words.length === 0 && flags.script === undefined && !hasOwnCommand) {
    throw invalid(
      "command",
      "is missing; write it after --, or give --script or --image (submit also takes --file and --jobspec)",
    );
  }
  if (!hasOwnCommand && flags.cwd === undefined) {
    const warning = directoryWarning(script === undefined ? words : [], context);
    if (warning !== undefined) await session.note(warning);
  }
  if (script === undefined) await tellUnreadDirectives(words, session);
  const outputFiles = outputFilesOf(flags);
  const entries = await entriesOf(flags, context);
  return {
    spec: {
      ...namesOf(flags),
      ...attached,
      ...(script === undefined ? { command: [...words] } : { script, args: [...words] }),
      ...(entries && { entries }),
      beginAtMs: wide(flags.begin),
      env: {
        ...attached.env,
        ...(flags.exportEnv === true && exportedOf(context.env)),
        ...flags.env,
      },
      ...(flags.image === undefined || flags.cwd !== undefined ? directoryOf(flags, context) : {}),
      ...outputFiles,
      ...containerOf(flags, context),
      ...(await demandOf(flags, context)),
      placement: placementOf(flags),
      ...limitsOf(flags),
      energy,
      dependsOn: dependenciesOf(flags),
    },
    idempotencyKey: flags.idempotencyKey,
    ...(flags.hold === true && { hold: true }),
  };
}

/** Directives of the script apply where the command line has no value. */
async function withDirectives(
  flags: JobFlags,
  script: string,
  { context, note }: Pick<Session, "context" | "note">,
  { attach }: AttachedFields,
): Promise<JobFlags> {
  const directives = readDirectives(script);
  const { ignored } = directives;
  if (ignored.length > 0) {
    const names = [...new Set(ignored)].join(", ");
    await note(`warning: #SBATCH ${names} of the script is ignored`);
  }
  const own = parseDirectives(directives, (command) => {
    addJobFlags(command, context);
    addHoldFlag(command);
  });
  const all: JobFlags = { ...(own as JobFlags), ...flags };
  const options = jobOptionFlags(directives.job, {
    ...all,
    name: all.name ?? nameOfScript(all.script) ?? "script",
    isTerminal: attach === "terminal",
    user: context.env["USER"] ?? context.env["LOGNAME"],
  });
  for (const warning of options.warnings) await note(`warning: ${warning}`);
  const unset = all.cluster === undefined ? missingSlurmVariables(script, all.env) : undefined;
  if (unset !== undefined) await note(unset);
  return { ...options.flags, ...all };
}

/** These describe the submitter's shell, not the work. */
const OF_THE_SHELL = new Set(["_", "PWD", "OLDPWD", "SHLVL"]);

/** Variables of the submitter that a task can have. */
function exportedOf(env: Context["env"]): Labels {
  const exported: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || OF_THE_SHELL.has(name)) continue;
    if (isVariableName(name)) exported[name] = value;
  }
  return exported;
}

/** Standard input can be read once. */
export function checkStdin(flags: Readonly<Record<string, unknown>> | JobFlags): void {
  const [, second] = Object.entries(flags).filter(([, value]) => value === "-");
  if (second !== undefined) {
    throw invalid(flagName(second[0]), "only one thing can be read from standard input");
  }
}

/** "--node-label" for nodeLabel. */
export const flagName = (key: string): string =>
  `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** Either amounts or a request, and the selection of a cluster for it. */
async function demandOf(flags: JobFlags, context: Context) {
  const amounts = resourcesOf(flags);
  const given = (["cpu", "memory", "gpu", "resource"] as const).find((name) => name in flags);
  if (flags.request !== undefined && given !== undefined) {
    throw invalid(`--${given}`, "cannot be combined with --request; write it into the request");
  }
  const isBare = flags.energy !== undefined && given === undefined;
  const request = await requestOf(flags, amounts, context);
  const select = await selectionOf(flags, context);
  return {
    ...(request !== undefined ? { request } : isBare ? {} : { resources: amounts }),
    ...(select === undefined ? {} : { select }),
  };
}

export const placementOf = ({ cluster, node, nodeLabel }: JobFlags) =>
  cluster === undefined && node === undefined && nodeLabel === undefined
    ? undefined
    : { cluster, node, labels: { ...nodeLabel } };

const namesOf = ({ name, script, comment, nice, group, label, array, priority }: JobFlags) => ({
  name: name ?? nameOfScript(script),
  comment,
  nice,
  group,
  labels: { ...label },
  array,
  priority,
});

/** Like a command, a script names its job; standard input and /dev/fd/63 have no name. */
const nameOfScript = (file: string | undefined): string | undefined =>
  file === undefined || file === "-" || file.startsWith("/dev/")
    ? undefined
    : visible(basename(file), limits.nameLengthMax);

function limitsOf(flags: JobFlags) {
  const { retries, retryBackoff, timeLimit, killGrace, outputLimit } = flags;
  const service = restartOf(flags);
  const queueDeadline = flags.queueDeadline ?? flags.deadline;
  if (retries === undefined && retryBackoff !== undefined) {
    throw invalid("--retry-backoff", "needs --retries");
  }
  return {
    retries: retries === undefined ? undefined : { max: retries, backoffMs: wide(retryBackoff) },
    ...(service && { service }),
    timeLimitMs: wide(timeLimit),
    killGraceMs: wide(killGrace),
    queueDeadlineMs: wide(queueDeadline),
    outputLimitBytes: wide(outputLimit),
  };
}

const wide = (value: number | undefined): bigint | undefined =>
  value === undefined ? undefined : BigInt(value);

export function resourcesOf(
  flags: Pick<JobFlags, "cpu" | "memory" | "gpu" | "resource">,
): Record<string, number> {
  const { cpu, memory, gpu } = flags;
  return {
    ...flags.resource,
    ...(cpu === undefined ? {} : { cpu }),
    ...(memory === undefined ? {} : { memory }),
    ...(gpu === undefined ? {} : { gpu }),
  };
}
