import { basename } from "node:path";
import { type Command, Option } from "commander";
import { stringify } from "yaml";
import type { Jobspec, JobspecItem } from "../../core/jobspec/model.ts";
import { checkJobspec } from "../../core/jobspec/read/parse.ts";
import { plan, planTargets, type PlanTarget, toScript } from "../../core/jobspec/plan/plan.ts";
import { describeProblem, type Problem } from "../../core/jobspec/read/problems.ts";
import { type BusbarJob, toBusbarJobs } from "../../core/jobspec/write/to-busbar.ts";
import { toFluxV1 } from "../../core/jobspec/write/to-flux-v1.ts";
import { toNextgen } from "../../core/jobspec/write/to-nextgen.ts";
import { AppError } from "../../lib/errors.ts";
import { formatDuration } from "../../lib/units.ts";
import { limits } from "../../limits.ts";
import { oneOf } from "../flags.ts";
import type { Answer, Session, Shell } from "../session.ts";

const formats = ["nextgen", "flux-v1", "busbar"] as const;
type Format = (typeof formats)[number];

const FILE = 'the jobspec, YAML or JSON ("-": standard input)';

const HELP = `
A jobspec describes tasks and groups of tasks with their resources, in one of four dialects:
Flux V1, experimental, draft 2 or nextgen. Which one it is follows from its shape. No server is
needed.

Examples:
  busbar jobspec validate job.yaml
  busbar jobspec convert job.yaml --to flux-v1
  busbar jobspec plan job.yaml --for slurm`;

export function declareJobspec(command: Command, shell: Shell): void {
  command.usage("[options] <command>").addHelpText("after", HELP);
  declareValidate(command, shell);
  declareConvert(command, shell);
  declarePlan(command, shell);
}

function declareValidate(command: Command, shell: Shell): void {
  const validate = command
    .command("validate")
    .description("Print all problems of a jobspec; exit 1 if it has any.");
  validate
    .argument("<file>", FILE)
    .addHelpText("after", "\nExample:\n  busbar jobspec validate - <job.yaml")
    .action((file: string) => shell.run(validate, (session) => validateFile(session, file)));
}

function declareConvert(command: Command, shell: Shell): void {
  const convert = command.command("convert").description("Print a jobspec in another form.");
  convert
    .argument("<file>", FILE)
    .addOption(
      new Option("--to <form>", "nextgen, flux-v1, or busbar: a file for busbar submit")
        .choices(formats)
        .argParser(oneOf("--to", formats))
        .makeOptionMandatory(),
    )
    .addHelpText(
      "after",
      `
If the form cannot express something, the command names it and fails. busbar submit --jobspec takes any jobspec as
it is, and can place it on pull clusters, which job files cannot express.

Examples:
  busbar jobspec convert old.yaml --to nextgen
  busbar jobspec convert job.yaml --to busbar --output json`,
    )
    .action((file: string, { to }: { readonly to: Format }) =>
      shell.run(convert, async (session) => convertTo(to, await readJobspec(session, file))),
    );
}

function declarePlan(command: Command, shell: Shell): void {
  const show = command.command("plan").description("Print what would run, in order, as a script.");
  show
    .argument("<file>", FILE)
    .addOption(
      new Option("--for <executor>", "process: run it here; flux, slurm: submit it")
        .choices(planTargets)
        .argParser(oneOf("--for", planTargets))
        .default("process"),
    )
    .addHelpText(
      "after",
      `
Runs nothing. The printed script can be run: it stops at the first command that fails.

Examples:
  busbar jobspec plan job.yaml
  busbar jobspec plan job.yaml --for flux | ssh login sh`,
    )
    .action((file: string, flags: { readonly for: PlanTarget }) =>
      shell.run(show, async (session) => {
        const steps = plan(await readJobspec(session, file), flags.for);
        return { json: { for: flags.for, steps }, text: () => toScript(steps), isRaw: true };
      }),
    );
}

async function validateFile(session: Session, file: string): Promise<Answer> {
  const name = nameOf(file);
  const checked = checkJobspec(await readText(session, file));
  if (checked.kind === "invalid") {
    const { count } = checked;
    const problems = checked.problems.map(({ at, field, message }) => ({ ...at, field, message }));
    return {
      json: { valid: false, count, problems },
      text: () => listProblems(name, checked.problems, count),
      exitCode: 1,
    };
  }
  const { jobspec } = checked;
  const { tasks, groups } = countItems(jobspec.items);
  const row = { valid: true, dialect: jobspec.dialect, tasks, groups };
  return {
    json: jobspec.name === undefined ? row : { ...row, name: jobspec.name },
    text: () =>
      `${name} is a valid jobspec (${jobspec.dialect}): ${some(tasks, "task")}` +
      (groups === 0 ? "" : ` in ${some(groups, "group")}`),
  };
}

const some = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

function countItems(items: readonly JobspecItem[]): { tasks: number; groups: number } {
  const counts = { tasks: 0, groups: 0 };
  for (const item of items) {
    const inner = item.kind === "group" ? countItems(item.items) : { tasks: 1, groups: -1 };
    counts.tasks += inner.tasks;
    counts.groups += inner.groups + 1;
  }
  return counts;
}

function listProblems(name: string, problems: readonly Problem[], count: number): string {
  const lines = problems.map((problem) => `${name}: ${describeProblem(problem)}`);
  return [...lines, ...(count > lines.length ? [`and ${count - lines.length} more`] : [])].join(
    "\n",
  );
}

/** Reports an error in the file like an error on the command line. */
async function readJobspec(session: Session, file: string): Promise<Jobspec> {
  const checked = checkJobspec(await readText(session, file));
  if (checked.kind === "valid") return checked.jobspec;
  const { problems, count } = checked;
  throw new AppError("invalid_argument", listProblems(nameOf(file), problems, count));
}

async function readText({ context }: Session, file: string): Promise<string> {
  return (await context.readInput(file, limits.messageBytesMax)).toString("utf8");
}

const nameOf = (file: string): string => (file === "-" ? "stdin" : basename(file));

function convertTo(form: Format, jobspec: Jobspec): Answer {
  if (form === "busbar") {
    const { jobs } = toBusbarJobs(jobspec);
    return { json: { jobs }, text: () => jobs.map(toJobFile).join(""), isRaw: true };
  }
  const document = form === "nextgen" ? toNextgen(jobspec) : toFluxV1(jobspec);
  return { json: document, text: () => toYaml(document), isRaw: true };
}

/** Long lines are not wrapped, and there are no aliases, which other readers may not know. */
const toYaml = (value: unknown): string =>
  stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });

/** One entry of a job file. Parts that such files cannot express become comments. */
function toJobFile({ spec, isLocal }: BusbarJob): string {
  const { timeLimitMs, dependsOn, ...fields } = spec;
  const job = {
    ...fields,
    ...(timeLimitMs === undefined ? {} : { timeLimit: formatDuration(timeLimitMs) }),
    ...(dependsOn === undefined ? {} : { dependsOn: dependsOn.flatMap(({ on = [] }) => on) }),
  };
  const comments = isLocal ? ["# local: meant to run where the jobspec is run"] : [];
  return [...comments, toYaml([job])].join("\n");
}
