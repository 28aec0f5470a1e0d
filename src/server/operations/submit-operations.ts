import { readValues } from "../../core/graph/cluster-state.ts";
import { MatchTotal } from "../../core/graph/match/match-total.ts";
import { parametersOf } from "../../core/jobspec/requested-parts.ts";
import { type IsSplit, toSubmissions } from "../../core/jobspec/write/to-submissions.ts";
import type { ResourceChoice } from "../../core/graph/request/request.ts";
import { clusterId, type JobId } from "../../core/model/ids.ts";
import { type JobSpec, taskTotalOf } from "../../core/model/job/job.ts";
import { type JobSpecInput, toJobSpec } from "../../core/model/job/job-spec.ts";
import { SelectReader } from "../../core/model/job/select-reader.ts";
import { NO_RESOURCES } from "../../core/model/resources.ts";
import { checkValue } from "../../core/model/texts.ts";
import { isPossible } from "../../core/scheduler/explain/places.ts";
import { isWaiting } from "../../core/scheduler/request.ts";
import { type DryRun, dryRun, type Shortage } from "../../core/scheduler/explain/dry-run.ts";
import type { CommandOf } from "../../core/state/command.ts";
import type { Submission } from "../../core/state/submission.ts";
import { decide } from "../../core/state/decide.ts";
import {
  isEverPossible,
  isNothingRegistered,
  knownPossible,
  preparePossible,
} from "../../core/state/decide/tasks/check-possible.ts";
import type { State } from "../../core/state/state.ts";
import { insideField, invalid, ofDocument, withField } from "../../lib/errors.ts";
import { unreachable } from "../../lib/invariant.ts";
import { limits } from "../../limits.ts";
import type { OperationContext } from "./create-operations.ts";
import { explainPlaces, fullGroup } from "../views/explain/explain-job.ts";
import { nothingJoined } from "../views/pending-reason.ts";
import { matchInSlices } from "../loop/match-in-slices.ts";
import { inSlices } from "../loop/in-slices.ts";
import type {
  JobspecInput,
  CallerOperations,
  SubmissionInput,
  Submissions,
  SubmittedView,
} from "./operations.ts";
import { whyNotYet } from "../views/not-placed.ts";
import type { TriedJobView } from "../views/views.ts";

type SubmitOperations = Pick<
  CallerOperations,
  "submitJobs" | "submitJobspec" | "tryJobs" | "readJobspec" | "readJobspecBody" | "roomFor"
>;

export function createSubmitOperations(context: OperationContext): SubmitOperations {
  const { loop, clock } = context;
  const submit = async (
    caller: { readonly name: string },
    submissions: readonly Submission[],
    allowUnsatisfiable: boolean | undefined,
  ): Promise<{ readonly jobs: readonly SubmittedView[]; readonly revision: number }> => {
    await matchInSlices(
      loop,
      submissions.map(({ spec }) => spec),
    );
    const state = loop.peek(all);
    const isAdvice = allowUnsatisfiable === true;
    await inSlices(preparePossible(state, submissions, { isAdvice }));
    const answer = await loop.submit({
      kind: "submit-jobs",
      submissions,
      by: caller.name,
      nowMs: clock.nowMs(),
      mustBePossible: !isAdvice,
    });
    const { revision } = loop;
    const show = ({ id, existed }: (typeof answer)[number], at: number): SubmittedView =>
      showSubmitted(state, id, { existed, spec: submissions[at]?.spec });
    return { jobs: await inSlices(mapInSlices(answer, show)), revision };
  };
  return {
    readJobspec: (_caller, text) => context.reader.jobspec(text, { mayLackTasks: true }),
    readJobspecBody: (_caller, body) => context.reader.jobspecBody(body),
    roomFor: (_caller, kind, bytes) => context.reader.room(kind, bytes),

    submitJobs: (caller, jobs, { allowUnsatisfiable } = {}) =>
      rejecting(async () =>
        submit(caller, await inSlices(checkSubmissions(jobs)), allowUnsatisfiable),
      ),

    submitJobspec: (caller, input) =>
      rejecting(async () => {
        const submissions = await readJobspec(input, context);
        const { jobs, revision } = await byTask(submissions, () =>
          submit(caller, submissions, input.allowUnsatisfiable),
        );
        const named = jobs.map((job, at) => ({ ...job, name: submissions[at]?.spec.name ?? "" }));
        return { jobs: named, revision };
      }),

    tryJobs: (caller, ask) =>
      rejecting(async () => {
        const submissions =
          ask.kind === "jobs"
            ? await inSlices(checkSubmissions(ask.jobs))
            : await readJobspec(ask.jobspec, context);
        const nowMs = clock.nowMs();
        const command = { kind: "submit-jobs", submissions, by: caller.name, nowMs } as const;
        await matchInSlices(
          loop,
          submissions.map(({ spec }) => spec),
        );
        await inSlices(preparePossible(loop.peek(all), submissions));
        const run = () => tryInSlices(command, context);
        return ask.kind === "jobs" ? run() : byTask(submissions, run);
      }),
  };
}

const all = (state: State): State => state;

/** Errors that are found before the loop decides count as rejections too. */
const rejecting = async <T>(run: () => Promise<T>): Promise<T> => run();

/** The caller of a jobspec knows the names of its tasks, and not the job of each. */
async function byTask<T>(submissions: readonly Submission[], run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw withField(error, (field) =>
      field.replace(/^jobs\[(\d+)\]/, (job, at) => submissions[Number(at)]?.spec.name ?? job),
    );
  }
}

/** Yields between slices of jobs. */
export function* checkSubmissions(jobs: Submissions): Generator<undefined, readonly Submission[]> {
  if (jobs.length === 0) throw invalid("jobs", "must name at least one job");
  if (jobs.length > limits.submitJobsMax) {
    throw invalid("jobs", `at most ${limits.submitJobsMax} in one call, not ${jobs.length}`);
  }
  const submissions: Submission[] = [];
  const selects = new SelectReader();
  let like: JobSpec | undefined;
  for (const input of jobs) {
    if (submissions.length > 0 && submissions.length % limits.jobsPerSliceMax === 0) yield;
    const next = checkSubmission(input, submissions.length, { like, selects });
    like = next.spec;
    submissions.push(next);
  }
  return submissions;
}

/** Errors in one of the jobs name that job; doors that submit a single job remove the name again. */
function checkSubmission(
  { spec, idempotencyKey, hold }: SubmissionInput,
  at: number,
  { like, selects }: { readonly like: JobSpec | undefined; readonly selects: SelectReader },
): Submission {
  try {
    const checked = toJobSpec(spec, like, selects);
    const submission = { spec: checked, idempotencyKey: checkKey(idempotencyKey) };
    return hold === true ? { ...submission, isHeld: true } : submission;
  } catch (error) {
    throw insideField(error, `jobs[${at}]`);
  }
}

function checkKey(key: string | undefined): string | undefined {
  if (key === undefined || key === "") return undefined;
  return checkValue(key, "idempotencyKey", limits.idempotencyKeyLengthMax);
}

/**
 * Reads a jobspec outside of the loop and turns it into jobs in slices: a long one takes a while. The
 * other fields of the request apply to all its jobs.
 */
async function readJobspec(
  input: JobspecInput,
  context: OperationContext,
): Promise<readonly Submission[]> {
  // The schema of the request describes the fields beside the document, and not the document.
  checkKey(input.idempotencyKey);
  toJobSpec({ ...input.common, command: ["any"] });
  try {
    return await readTasks(input, context);
  } catch (error) {
    throw ofDocument(error);
  }
}

async function readTasks(
  { jobspec: given, idempotencyKey, hold, common }: JobspecInput,
  { loop, reader }: OperationContext,
): Promise<readonly Submission[]> {
  const jobspec = typeof given === "string" ? await reader.jobspec(given) : given;
  const own = readValues(parametersOf(jobspec), "attributes.parameter");
  const total = new MatchTotal(limits.submissionStepsMax);
  const isSplitNow: IsSplit = (forms) =>
    total.count(() => loop.peek((state) => isSplit(state, forms, common?.placement)));
  const specs = await inSlices(toSubmissions(jobspec, isSplitNow, own));
  return inSlices(
    checkSubmissions(
      specs.map((spec): SubmissionInput => {
        const joined = withCommon(spec, common);
        // Each job has its own key; keys of one jobspec have the same prefix.
        const key =
          idempotencyKey === undefined || idempotencyKey === "" ? undefined : idempotencyKey;
        return { spec: joined, idempotencyKey: key && `${key}/${spec.name ?? ""}`, hold };
      }),
    ),
  );
}

/**
 * Decides like satisfy: a pull cluster must have capacity for the whole jobspec, a node for each process. Nodes
 * go first; where neither can run it, their answers are the reasons.
 */
function isSplit(
  state: State,
  { ofEach, ofAll }: Parameters<IsSplit>[0],
  placement: JobSpecInput["placement"],
): boolean {
  const { cluster, kind } = placement ?? {};
  if (kind !== undefined) return kind === "managed";
  if (cluster !== undefined) return state.clusters.get(clusterId(cluster))?.kind !== "pulling";
  const could = (request: ResourceChoice, where: JobSpec["where"]): boolean =>
    isPossible(state, { needs: NO_RESOURCES, request, select: undefined, where });
  if (could(ofEach, { kind: "managed" })) return true;
  const arePulling = state.nodes.size === 0 && !state.clusters.graphs.isEmpty;
  return !arePulling && !could(ofAll, { kind: "pulling" });
}

function withCommon(one: JobSpecInput, common: JobspecInput["common"] = {}): JobSpecInput {
  const { select, placement, ...rest } = common;
  const spec =
    placement === undefined ? one : { ...one, placement: { ...one.placement, ...placement } };
  if (select === undefined) return { ...spec, ...rest };
  const parameters = {
    ...(spec.select?.parameters as object | undefined),
    ...readValues(select.parameters ?? {}, "select.parameters"),
  };
  return { ...spec, ...rest, select: { ...select, parameters } };
}

/** Yields before the first of many, too, so that callers in the same commit receive their answers. */
function* mapInSlices<Item, Result>(
  items: readonly Item[],
  map: (item: Item, at: number) => Result,
): Generator<undefined, Result[]> {
  const results: Result[] = [];
  const isLong = items.length > limits.jobsPerSliceMax;
  for (const [at, item] of items.entries()) {
    if (isLong && at % limits.jobsPerSliceMax === 0) yield;
    results.push(map(item, at));
  }
  return results;
}

function showSubmitted(
  state: State,
  id: JobId,
  { existed, spec }: { readonly existed: boolean; readonly spec: JobSpec | undefined },
): SubmittedView {
  const isPending = spec !== undefined && state.jobs.stateOf(id) === "pending";
  const warning = isPending ? warningFor(state, spec) : undefined;
  return { id: String(id), existed, ...(warning === undefined ? {} : { warning }) };
}

/** Only reasons that waiting cannot change, and those found before the jobs were submitted. */
function warningFor(state: State, spec: JobSpec): string | undefined {
  const request = state.queue.classOf(spec);
  if (request === undefined || !isWaiting(request)) return undefined;
  if (isNothingRegistered(state, spec))
    return `${nothingJoined(spec)}; the job is queued until one does`;
  if (knownPossible(state, spec) !== false) return undefined;
  return "no registered node or cluster can run this job; it is queued until one can (see busbar explain)";
}

/** Tries all jobs in one slice, because they are placed together, and explains each in its own. */
async function tryInSlices(
  command: CommandOf<"submit-jobs">,
  context: OperationContext,
): Promise<{ readonly jobs: readonly TriedJobView[]; readonly revision: number }> {
  let jobs: TriedJobView[] | undefined;
  let unexplained: number[] = [];
  const revision = await context.loop.readSlices((state) => {
    if (jobs === undefined) {
      jobs = tryAll(state, command, context);
      // Each explanation reads all nodes: a few are enough.
      unexplained = toExplain(jobs).slice(0, limits.trialsExplainedMax);
    } else {
      const at = unexplained.shift() ?? 0;
      const [view, spec] = [jobs[at], command.submissions[at]?.spec];
      if (view !== undefined && spec !== undefined) {
        jobs[at] = { ...view, ...explainPlaces(state, spec, context.policy).view };
      }
    }
    return unexplained.length === 0;
  });
  return { jobs: jobs ?? [], revision };
}

const toExplain = (jobs: readonly TriedJobView[]): number[] =>
  jobs.flatMap(({ possible, waiting, reason }, at) =>
    possible && (waiting === 0 || reason !== undefined) ? [] : [at],
  );

/** Rejects and places jobs as a submission would, and changes nothing. */
function tryAll(
  state: State,
  command: CommandOf<"submit-jobs">,
  { policy }: OperationContext,
): TriedJobView[] {
  decide(state, command);
  const specs = command.submissions.map(({ spec }) => spec);
  const bounds = {
    candidatesMax: limits.candidatesPerPlacementMax,
    placementsMax: limits.trialPlacementsMax,
    stepsMax: limits.stepsPerSliceMax,
    nowMs: command.nowMs,
  };
  const blocked = command.submissions.map(({ spec, isHeld }) =>
    isHeld === true ? "it would be on hold" : whyNotYet(state, spec, command.nowMs),
  );
  // Jobs that do not start now take no capacity from the rest.
  const free = specs.filter((_, at) => blocked[at] === undefined);
  const trials = new Map<JobSpec, DryRun>();
  for (const [at, trial] of dryRun(state, free, policy, bounds).entries()) {
    const spec = free[at];
    if (spec !== undefined) trials.set(spec, trial);
  }
  const total = new MatchTotal();
  return specs.map((spec, at) => {
    const isPossible = total.count(() => isEverPossible(state, spec));
    const trial = trials.get(spec) ?? blocked[at] ?? "";
    return showTrial(state, spec, { trial, isPossible });
  });
}

function showTrial(
  state: State,
  spec: JobSpec,
  { trial, isPossible: isEver }: { readonly trial: DryRun | string; readonly isPossible: boolean },
): TriedJobView {
  const isPossible = isEver || isNothingRegistered(state, spec);
  const base = { name: spec.name, possible: isPossible, reasons: [], clusters: [], hints: [] };
  if (typeof trial === "string") {
    const tasks = taskTotalOf(spec);
    return { ...base, tasks, placements: [], waiting: tasks, untried: 0, reason: trial };
  }
  const { tasks, placements, waitsFor } = trial;
  const left = tasks - placements.length;
  const waits = waitsFor !== undefined;
  const full = waits ? describeShortage(state, spec, waitsFor) : undefined;
  return {
    ...base,
    tasks,
    placements: placements.map(({ index, target }) =>
      target.kind === "cluster"
        ? { index, cluster: target.cluster }
        : { index, cluster: target.node.node.cluster, node: target.node.node.id },
    ),
    waiting: waits ? left : 0,
    untried: waits ? 0 : left,
    ...(full === undefined ? {} : { reason: full }),
  };
}

/** Undefined: the reasons of nodes and clusters say it. */
function describeShortage(state: State, spec: JobSpec, waitsFor: Shortage): string | undefined {
  switch (waitsFor) {
    case "capacity":
      return undefined;
    case "group":
      return fullGroup(state, spec) ?? `group ${spec.group} would be full`;
    case "array":
      return `its array runs at most ${spec.tasksAtOnce} at once`;
    default:
      return unreachable(waitsFor);
  }
}
