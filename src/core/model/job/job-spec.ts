import { isLongerText } from "../../../lib/rules/check-rule.ts";
import { invalid, readingDocument, unprocessable } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { graphRequest, needsOf } from "../../graph/request/graph-request.ts";
import { readResourceChoice } from "../../graph/request/read-request.ts";
import { checkAttach } from "./attach/attach.ts";
import { type ContainerFields, isContained, toContainerTerms } from "./containers/containers.ts";
import { DEFAULT_GROUP } from "../group.ts";
import type { DependencyInput } from "./dependency.ts";
import { toDependencies } from "./dependency.ts";
import { type EnergyInput, isShareResource, toEnergy, withShareResource } from "./energy.ts";
import { charsOf, NO_TEXTS, toArgv, toEnv, checkExact } from "./env.ts";
import { toArray, toEntries, toScriptArgs } from "./arrays/entries.ts";
import { checkName, groupId } from "../ids.ts";
import { isDeepEqual } from "../../../lib/is-deep-equal.ts";
import type { JobSpec, JobTerms, Retries, Texts, Where, Work } from "./job.ts";
import { SharedSpec } from "./job.ts";
import { type SelectInput, SelectReader } from "./select-reader.ts";
import { checkLabels, isPrintable, visible } from "../texts.ts";
import type { Resources } from "../resources.ts";
import { toResources } from "../resources.ts";
import { checkOutputFiles, NO_PLAIN_TERMS, toPlainTerms } from "./plain-fields.ts";
import type { PlainInput, PlainName } from "./plain-fields.ts";
import { checkService, type ServiceTermsInput, toServiceTerms } from "../service/service-terms.ts";
import { RETRIES_RULES, SPEC_RULES } from "./spec-rules.ts";
import { whole, type WholeRule } from "./whole.ts";
import { termsByTemplate } from "./workload/template-terms.ts";
import { INSTANCES, readWorkload, whereOf } from "./workload/workload.ts";

/** A spec as doors pass it on: its types are right, its values are not validated. */
export interface JobSpecInput extends PlainInput, ContainerFields {
  readonly name?: string | undefined;
  readonly group?: string | undefined;
  readonly labels?: Texts | undefined;
  readonly command?: readonly string[] | undefined;
  readonly script?: string | undefined;
  /** A whole jobspec, for one pull cluster. */
  readonly jobspec?: string | undefined;
  /** The definition of a workload (workload.ts), of which each task is an instance. */
  readonly workload?: string | undefined;
  readonly env?: Texts | undefined;
  readonly cwd?: string | undefined;
  /** In the units people write: cpu in cpus, memory and disk in bytes. */
  readonly resources?: Readonly<Record<string, number>> | undefined;
  /** The graph request of each task, instead of `resources`. */
  readonly request?: unknown;
  readonly select?: SelectInput | undefined;
  readonly placement?:
    | {
        readonly kind?: string | undefined;
        readonly cluster?: string | undefined;
        readonly node?: string | undefined;
        readonly labels?: Texts | undefined;
      }
    | undefined;
  readonly array?: string | undefined;
  /** Of the script. */
  readonly args?: readonly string[] | undefined;
  /** A text for each task. */
  readonly entries?: readonly string[] | undefined;
  readonly priority?: number | undefined;
  readonly retries?:
    | {
        readonly max?: number | undefined;
        readonly backoffMs?: number | undefined;
        readonly backoffMaxMs?: number | undefined;
      }
    | undefined;
  readonly timeLimitMs?: number | undefined;
  readonly killGraceMs?: number | undefined;
  readonly queueDeadlineMs?: number | undefined;
  readonly outputLimitBytes?: number | undefined;
  readonly dependsOn?: readonly DependencyInput[] | undefined;
  readonly energy?: EnergyInput | undefined;
  readonly service?: ServiceTermsInput | undefined;
}

// Shared: a million queued jobs must not hold a million empty objects.
const ANYWHERE: Where = Object.freeze({});
const NOTHING: Resources = Object.freeze({});
const ONE_CPU: Resources = Object.freeze({ cpu: 1_000 });
const ONE_INSTANCE: Resources = Object.freeze({ [INSTANCES]: 1 });
const NO_RETRIES: Retries = Object.freeze({
  max: 0,
  backoffMs: limits.retryBackoffMsDefault,
  backoffMaxMs: limits.retryBackoffMsMax,
});

/** The default terms. */
export const DEFAULT_TERMS: JobTerms = Object.freeze({
  ...NO_PLAIN_TERMS,
  group: DEFAULT_GROUP,
  labels: NO_TEXTS,
  env: NO_TEXTS,
  cwd: undefined,
  container: undefined,
  needs: ONE_CPU,
  request: undefined,
  select: undefined,
  where: ANYWHERE,
  array: undefined,
  tasksAtOnce: undefined,
  priority: 0,
  retries: NO_RETRIES,
  service: undefined,
  timeLimitMs: undefined,
  killGraceMs: limits.killGraceMsDefault,
  queueDeadlineMs: undefined,
  outputLimitBytes: limits.outputBytesDefault,
});

export const TERM_NAMES = Object.keys(DEFAULT_TERMS) as readonly (keyof JobTerms)[];

/**
 * Validates every field and fills in defaults. Throws AppError naming the field: `command`, `env.PATH`.
 * `like` is a spec made just before: equal terms are shared.
 */
export function toJobSpec(
  input: JobSpecInput,
  like?: JobSpec,
  selects = new SelectReader(),
): JobSpec {
  const work = toWork(input);
  const name = toJobName(input, work);
  const dependsOn = toDependencies(input.dependsOn);
  const energy = toEnergy(input.energy);
  if (input.service !== undefined) checkService(input);
  if (energy !== undefined) checkShares(input);
  if ((input.attach ?? input.hangUpMs) !== undefined) checkAttach(input);
  const asked = work.kind === "jobspec" ? forOneCluster(input) : input;
  const toTerms = (): JobTerms => shareTerms(toOwnTerms(asked, selects), like?.terms);
  const terms = saysNothing(asked) ? DEFAULT_TERMS : termsByTemplate(asked, toTerms);
  const entries = toEntries(input, terms.array);
  const spec = new SharedSpec(name, work, terms, { dependsOn, energy, entries });
  checkSize(spec);
  return spec;
}

/** Shares are only for nodes with power: a graph or a pull cluster does not report any. */
function checkShares(input: JobSpecInput): void {
  const { jobspec, workload, array, request, select, placement } = input;
  const why = "a job with energy is split over nodes with power";
  if (workload !== undefined) throw invalid("workload", `${why}: give a command, or none`);
  if (jobspec !== undefined) throw invalid("jobspec", `${why}: give a command, or none`);
  if (array !== undefined) throw invalid("array", `${why}: submit one job for each index`);
  if (request !== undefined) throw invalid("request", `${why}: give resources`);
  if (select !== undefined) throw invalid("select", `${why}: give energy.split`);
  if (placement?.kind === "pulling") throw invalid("placement.kind", `${why}: leave it out`);
}

/** Only pull clusters run a whole jobspec: they have their own schedulers. */
function forOneCluster(input: JobSpecInput): JobSpecInput {
  const { placement, array } = input;
  if (array !== undefined) throw invalid("array", "cannot be combined with a whole jobspec");
  for (const field of ["node", "labels"] as const) {
    if (placement?.[field] === undefined) continue;
    throw unprocessable(`placement.${field}`, "a whole jobspec goes to a pull cluster");
  }
  if (placement?.kind === "managed") {
    throw unprocessable("placement.kind", "a whole jobspec goes to a pull cluster");
  }
  return { ...input, placement: { ...placement, kind: "pulling" } };
}

function toOwnTerms(input: JobSpecInput, selects: SelectReader): JobTerms {
  const { group } = input;
  checkOutputFiles(input);
  return {
    ...toPlainTerms(input),
    group:
      group === undefined
        ? DEFAULT_GROUP
        : groupId(checkName(group, "group", limits.nameLengthMax)),
    labels: checkLabels(input.labels, "labels"),
    env: toEnv(input.env, "env"),
    cwd: toCwd(input.cwd),
    container: toContainerTerms(input),
    ...toDemand(input),
    select: input.select && selects.read(input.select),
    where: toWhere(input),
    ...toArray(input, ARRAY_LIMITS),
    priority: checkWhole(input, "priority") ?? 0,
    retries: toRetries(input.retries),
    service: toServiceTerms(input.service),
    timeLimitMs: checkWhole(input, "timeLimitMs"),
    killGraceMs: checkWhole(input, "killGraceMs") ?? limits.killGraceMsDefault,
    queueDeadlineMs: checkWhole(input, "queueDeadlineMs"),
    outputLimitBytes: checkWhole(input, "outputLimitBytes") ?? limits.outputBytesDefault,
  };
}

/** Returns one object for equal terms. */
export function shareTerms(terms: JobTerms, like: JobTerms | undefined): JobTerms {
  return like !== undefined && isDeepEqual(terms, like) ? like : terms;
}

const ARRAY_LIMITS = { tasksMax: limits.arrayTasksMax, indexMax: limits.arrayIndexMax } as const;

/** Fields that are not terms; with any other, the job gets terms of its own. */
const NO_TERMS: ReadonlySet<string> = new Set<keyof JobSpecInput>([
  "name",
  "command",
  "script",
  "jobspec",
  "args",
  "dependsOn",
]);

function saysNothing(input: JobSpecInput): boolean {
  for (const name in input) {
    if (input[name as keyof JobSpecInput] !== undefined && !NO_TERMS.has(name)) return false;
  }
  return true;
}

const NO_WORK: Work = Object.freeze({ kind: "command", argv: Object.freeze([]) });

/** Whether it may have no command, and has none. */
const isBare = (input: JobSpecInput): boolean => {
  const { energy, command, script, jobspec, workload } = input;
  if (energy === undefined && !isContained(input)) return false;
  return (script ?? jobspec ?? workload) === undefined && isNothing(command);
};

const isNothing = (command: readonly string[] | undefined): boolean =>
  command === undefined || command.length === 0;

function toWork(input: JobSpecInput): Work {
  const { command, script, jobspec, workload } = input;
  if (script === undefined) toScriptArgs(input.args, false);
  if (isContained(input)) checkContained(input);
  if (isBare(input)) return NO_WORK;
  if (workload !== undefined) {
    if (command !== undefined || script !== undefined || jobspec !== undefined) {
      throw invalid("workload", "give either a workload or something to run, not both");
    }
    readWorkload(checkExact(workload, "workload"), "workload");
    return { kind: "workload", text: workload };
  }
  if (jobspec !== undefined) {
    if (command !== undefined || script !== undefined) {
      throw invalid("jobspec", "give either a jobspec or something to run, not both");
    }
    if (jobspec.trim() === "") throw invalid("jobspec", "must not be empty");
    return { kind: "jobspec", text: checkExact(jobspec, "jobspec") };
  }
  if (command !== undefined && script !== undefined) {
    throw invalid("script", "give either command or script, not both");
  }
  if (script !== undefined) {
    if (script.trim() === "") throw invalid("script", "must not be empty");
    const text = checkExact(script, "script");
    const args = toScriptArgs(input.args, true);
    return args === undefined ? { kind: "script", text } : { kind: "script", text, args };
  }
  return { kind: "command", argv: toArgv(command, "command") };
}

/** Agents of nodes start containers, and each of several has a command of its own. */
function checkContained(input: JobSpecInput): void {
  const { image, command, script, jobspec, energy, placement } = input;
  const field = image === undefined ? "containers" : "image";
  if (jobspec !== undefined) throw invalid(field, "cannot be combined with a whole jobspec");
  if (energy !== undefined) throw invalid(field, "cannot be combined with energy");
  if (placement?.kind === "pulling") {
    throw unprocessable("placement.kind", "containers run on nodes with agents: leave it out");
  }
  if (image !== undefined) return;
  const own = script !== undefined ? "script" : isNothing(command) ? undefined : "command";
  if (own !== undefined) throw invalid(own, "each container has a command of its own");
}

function toJobName(input: JobSpecInput, work: Work): string {
  const { name } = input;
  if (name === undefined) return defaultNameOf(work, isContained(input));
  const { maxLength } = SPEC_RULES.name;
  if (name === "" || isLongerText(name, maxLength)) {
    throw invalid("name", `must have 1 to ${maxLength} characters`);
  }
  if (!isPrintable(name)) throw invalid("name", "must not have control characters");
  return name;
}

/** The name of a job that has none. */
export function defaultNameOf(work: Work, isContained: boolean): string {
  if (work.kind !== "command") return work.kind;
  const program = work.argv[0] ?? (isContained ? "container" : "energy");
  const name = program.slice(program.lastIndexOf("/") + 1) || program;
  return visible(name, limits.nameLengthMax);
}

function toCwd(cwd: string | undefined): string | undefined {
  if (cwd === undefined) return undefined;
  if (!cwd.startsWith("/")) throw invalid("cwd", "must be an absolute path, like /tmp");
  const { maxLength } = SPEC_RULES.cwd;
  if (isLongerText(cwd, maxLength)) throw invalid("cwd", `at most ${maxLength} characters`);
  return checkExact(cwd, "cwd");
}

function toNeeds(resources: JobSpecInput["resources"], isInstance = false): Resources {
  if (resources === undefined) return isInstance ? ONE_INSTANCE : ONE_CPU;
  const place = Object.keys(resources).find(isShareResource);
  if (place !== undefined) throw invalid(`resources.${place}`, "is reserved; write energy instead");
  const least = isInstance ? { [INSTANCES]: 1 } : { cpu: 1 };
  const amounts = { ...least, ...resources };
  if (isInstance && amounts[INSTANCES] === 0) {
    throw invalid(`resources.${INSTANCES}`, "an instance of a workload needs at least one");
  }
  const needs = toResources(amounts, "resources", limits.resourceNamesMax);
  return needs["cpu"] === 1_000 && Object.keys(needs).length === 1 ? ONE_CPU : needs;
}

function toDemand(input: JobSpecInput): Pick<JobTerms, "needs" | "request"> {
  const { resources, request, jobspec, workload, energy } = input;
  if (energy !== undefined) {
    const bare = isBare(input);
    const own = bare && resources === undefined ? NOTHING : toNeeds(resources);
    return { needs: withShareResource(own, bare), request: undefined };
  }
  if (request === undefined) {
    // A jobspec without resources goes to any cluster.
    const isAnything = jobspec !== undefined && resources === undefined;
    const isInstance = workload !== undefined;
    return { needs: isAnything ? NOTHING : toNeeds(resources, isInstance), request };
  }
  if (resources !== undefined) {
    throw invalid("request", "give either resources or a request, not both");
  }
  const choice = readingDocument(() => readResourceChoice(request, "request"));
  return { needs: needsOf(graphRequest(choice)), request: choice };
}

function toWhere(input: JobSpecInput): Where {
  const { placement = {} } = input;
  const { kind, cluster, node, labels } = placement;
  const some = checkLabels(labels, "placement.labels");
  const where: Where = {
    ...(kind === undefined ? {} : { kind: toClusterKind(kind) }),
    ...(cluster === undefined
      ? {}
      : { cluster: checkName(cluster, "placement.cluster", limits.nameLengthMax) }),
    ...(node === undefined
      ? {}
      : { node: checkName(node, "placement.node", limits.nameLengthMax) }),
    ...(Object.keys(some).length === 0 ? {} : { labels: some }),
    ...(isContained(input) ? { containers: true } : {}),
    ...(input.attach === undefined ? {} : { attach: true }),
  };
  const asked = Object.keys(where).length === 0 ? ANYWHERE : where;
  return input.workload === undefined ? asked : whereOf(input.workload, asked);
}

function toClusterKind(kind: string): NonNullable<Where["kind"]> {
  if (kind === "managed" || kind === "pulling" || kind === "any") return kind;
  const shown = JSON.stringify(kind.slice(0, 40));
  throw invalid("placement.kind", `${shown} is not one of managed, pulling, any`);
}

function toRetries(retries: JobSpecInput["retries"]): Retries {
  if (retries === undefined) return NO_RETRIES;
  const { backoffMs = limits.retryBackoffMsDefault, backoffMaxMs } = retries;
  const max = whole(retries.max ?? 0, "retries.max", RETRIES_RULES.max);
  const first = whole(backoffMs, "retries.backoffMs", RETRIES_RULES.backoffMs);
  const most = backoffMaxMs ?? Math.max(first, limits.retryBackoffMsMax);
  whole(most, "retries.backoffMaxMs", RETRIES_RULES.backoffMaxMs);
  if (most < first) {
    throw unprocessable("retries.backoffMaxMs", `is less than backoffMs, which is ${first}`);
  }
  return { max, backoffMs: first, backoffMaxMs: most };
}

/** Fields with a rule that is a range. */
type RangeName = {
  [Name in keyof typeof SPEC_RULES]: (typeof SPEC_RULES)[Name] extends WholeRule ? Name : never;
}[keyof typeof SPEC_RULES];

const checkWhole = (
  input: JobSpecInput,
  field: Exclude<RangeName, PlainName>,
): number | undefined => {
  const value = input[field];
  return value === undefined ? undefined : whole(value, field, SPEC_RULES[field]);
};

const argumentsOf = (work: Work): readonly string[] =>
  work.kind === "command" ? work.argv : work.kind === "script" ? (work.args ?? []) : [];

function checkSize(spec: JobSpec): void {
  const { work } = spec;
  let size = work.kind === "command" ? 0 : work.text.length;
  size += charsOf(argumentsOf(work), spec.env);
  for (const { command, env } of spec.container?.containers ?? []) size += charsOf(command, env);
  const most = work.kind === "jobspec" ? limits.jobspecCharsMax : limits.workBytesMax;
  if (size > most) {
    throw unprocessable(work.kind, `with env it has ${size} characters; at most ${most}`);
  }
}
