import type { Command } from "commander";
import type { JobSubmissionInit } from "../../client/messages.ts";
import { AppError, invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { addIfRevision, type ConditionFlags, duration, newName, wholeNumber } from "../flags.ts";
import type { Answer, Session, Shell } from "../session.ts";
import { addJobFlags, checkStdin, type JobFlags, toSubmission } from "../submit/job-flags.ts";
import { oneService } from "./one-service.ts";

interface ApplyFlags extends JobFlags, ConditionFlags {
  readonly file?: string;
  readonly replicas?: number;
  readonly maxUnavailable?: number;
  readonly minReady?: number;
  readonly failuresMax?: number;
}

/** Flags that are not part of the template: with a file, everything else must be in it. */
const BESIDE_FILE: readonly string[] = [
  "file",
  "replicas",
  "maxUnavailable",
  "minReady",
  "failuresMax",
  "ifRevision",
  "server",
  "output",
];

const HELP = `
The command, or the one job in --file, is the template. A changed template replaces the instances
one by one, and stops when new ones fail; the same template again restarts instances that ended for good.
Settings that are not given stay as they are.

Examples:
  busbar services apply web --replicas 3 --cpu 0.5 -- ./serve --port 8080
  busbar services apply web --file web.yaml --max-unavailable 2
  busbar services apply web --replicas 5`;

export function declareApply(services: Command, shell: Shell): void {
  const apply = services
    .command("apply")
    .description("Create a service, or change the given settings of it.")
    .argument("<name>", "the service", newName("<name>", limits.serviceNameLengthMax))
    .argument("[command...]", "what an instance runs, after --");
  addIfRevision(apply)
    .option("--file <file>", 'read the template from this job file ("-": standard input)')
    .option(
      "--replicas <n>",
      "number of instances (default: unchanged, or 0)",
      wholeNumber("--replicas", { min: 0, max: limits.replicasMax }),
    )
    .option(
      "--max-unavailable <n>",
      "replace this many at once in a rollout (default: 1)",
      wholeNumber("--max-unavailable", { min: 1, max: limits.unavailableMax }),
    )
    .option(
      "--min-ready <duration>",
      "a new instance counts as ready after running for this long (default: 5s)",
      duration("--min-ready"),
    )
    .option(
      "--failures-max <n>",
      "stop a rollout when a new instance has failed this often (default: 3)",
      wholeNumber("--failures-max", { min: 1, max: limits.rolloutFailuresMax }),
    );
  addJobFlags(apply, shell.context);
  apply
    .addHelpText("after", HELP)
    .action((name: string, words: readonly string[], flags: ApplyFlags) =>
      shell.run(apply, (session) => applyService(session, name, words, flags)),
    );
}

async function applyService(
  session: Session,
  name: string,
  words: readonly string[],
  flags: ApplyFlags,
): Promise<Answer> {
  const { replicas, maxUnavailable, minReady, failuresMax, ifRevision } = flags;
  const template = await readTemplate(session, words, flags);
  const minReadyMs = minReady === undefined ? undefined : BigInt(minReady);
  const client = await session.client();
  try {
    return oneService(
      await client.applyService({
        name,
        ...(template === undefined ? {} : { template }),
        replicas,
        rollout: { maxUnavailable, minReadyMs, failuresMax },
        ifRevision,
      }),
    );
  } catch (error) {
    if (template === undefined) throw noTemplate(name, error);
    if (flags.file !== undefined) throw error;
    const { clearerRefusal } = await import("../suggest/clearer-refusal.ts");
    throw await clearerRefusal(client, template, error);
  }
}

/** A service that does not exist yet cannot keep its template. */
function noTemplate(name: string, error: unknown): unknown {
  if (!(error instanceof AppError) || error.field !== "template") return error;
  const problem = `is missing: there is no service ${name} yet; write it after --, or give --file`;
  return new AppError(error.code, problem, { field: "command", cause: error.cause });
}

const asFlag = (name: string): string =>
  `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** Undefined: it stays unchanged. */
async function readTemplate(
  session: Session,
  words: readonly string[],
  flags: ApplyFlags,
): Promise<JobSubmissionInit["spec"]> {
  const others = Object.keys(flags).filter((name) => !BESIDE_FILE.includes(name));
  if (flags.file !== undefined) {
    if (words.length > 0) throw invalid("--file", "cannot be combined with a command");
    const [other] = others;
    if (other !== undefined) {
      throw invalid("--file", `cannot be combined with flags of a job, like ${asFlag(other)}`);
    }
    checkStdin(flags);
    const text = await session.context.readInput(flags.file, limits.messageBytesMax);
    const { parseJobFile } = await import("../submit/job-file.ts"); // YAML is slow to load
    const [job, ...more] = parseJobFile(text.toString("utf8"), flags.file);
    if (job?.spec === undefined || more.length > 0) {
      throw invalid("--file", "must hold exactly one job: the template");
    }
    return templateOf(job);
  }
  if (words.length === 0 && others.length === 0) return undefined;
  return templateOf(await toSubmission(flags, words, session));
}

function templateOf({ spec, hold }: JobSubmissionInit): JobSubmissionInit["spec"] {
  if (hold !== true) return spec;
  throw invalid("hold", "is not for services; --replicas 0 starts no instance");
}
