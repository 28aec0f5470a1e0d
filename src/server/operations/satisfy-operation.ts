import { readValues } from "../../core/graph/cluster-state.ts";
import { isRecord } from "../../core/graph/metadata.ts";
import { graphRequest } from "../../core/graph/request/graph-request.ts";
import { MatchTotal } from "../../core/graph/match/match-total.ts";
import { Slicer } from "../../core/graph/match/match-work.ts";
import type { ResourceRequest } from "../../core/graph/request/request.ts";
import { readResourceChoice } from "../../core/graph/request/read-request.ts";
import {
  requestedParts,
  type RequestedPart,
  parametersOf,
} from "../../core/jobspec/requested-parts.ts";
import { checkHasStrategy, checkSelectSize } from "../../core/model/job/select-reader.ts";
import {
  chooseForAll,
  type Choosing,
  type Chosen,
} from "../../core/scheduler/clusters/choose-for-all.ts";
import { describeClusterReasons, describeDrop } from "../../core/scheduler/explain/describe.ts";
import {
  answersVersion,
  type ClusterAnswer,
  pullingAnswers,
  satisfyChoice,
  satisfyEmptyRequest,
} from "../../core/scheduler/explain/satisfy.ts";
import { clusterId } from "../../core/model/ids.ts";
import type { Dropped, Select } from "../../core/select/strategy.ts";
import type { State } from "../../core/state/state.ts";
import { AppError, invalid, readingDocument, unprocessable } from "../../lib/errors.ts";
import { invariant } from "../../lib/invariant.ts";
import { limits } from "../../limits.ts";
import { CheckedJobs } from "./jobs/checked-jobs.ts";
import type { OperationContext } from "./create-operations.ts";
import { inSlices } from "../loop/in-slices.ts";
import type { CallerOperations, SatisfyQuery } from "./operations.ts";
import type { ClusterAnswerView, SatisfyView, SelectionView } from "../views/satisfy-view.ts";

/** The request, read and checked. */
interface Asked {
  readonly parts: readonly RequestedPart[];
  readonly choosing: Choosing | undefined;
  readonly pulling: SatisfyQuery["pulling"];
}

export function createSatisfyOperation(
  context: OperationContext,
): Pick<CallerOperations, "satisfy" | "submitToChosen"> {
  const { loop, random, clock } = context;
  const pulling = new PullingAnswers();
  const checked = new CheckedJobs();
  const answerNow = (asked: Asked): Promise<Omit<SatisfyView, "revision">> =>
    inSlices(loop.peek((state) => answer(state, asked, pulling, () => random.fraction())));
  return {
    async submitToChosen(_caller, { job, clusters: names, ask, selection }) {
      const query = { ask, selection, pulling: { names } };
      const { parts, choosing } = await readQuery(query, context);
      invariant(choosing !== undefined, "a selection was given");
      const submission = await checked.check(job);
      const { tasks, version } = await inSlices(
        loop.peek((state) => answerPulling(state, parts, names, pulling)),
      );
      const answers = answersOf(tasks);
      const decided = await loop.submit({
        kind: "submit-to-chosen",
        submission,
        resources: parts.map(({ resources }) => resources),
        names,
        choosing,
        prepared: { version, answers },
        fraction: random.fraction(),
        nowMs: clock.nowMs(),
      });
      if (decided.kind === "none") {
        return { kind: "none", tasks, dropped: decided.dropped.map(showDropped) };
      }
      return { kind: "submitted", id: String(decided.id), cluster: decided.cluster };
    },

    async satisfy(_caller, query) {
      const asked = await readQuery(query, context);
      const answered = await answerNow(asked);
      // Answers when all that the slices have seen is durable. They read pull clusters only,
      // unless the request chooses one of them.
      const isOfGraphs = asked.pulling !== undefined && asked.choosing === undefined;
      const look = (_: State, revision: number): SatisfyView => ({ ...answered, revision });
      return isOfGraphs ? loop.readGraphs(look) : loop.read(look);
    },
  };
}

/** An answer with its reasons as text. */
type ShownAnswer = Omit<ClusterAnswer, "reasons"> & Pick<ClusterAnswerView, "reasons">;

interface Answered {
  readonly name: string;
  readonly clusters: readonly ShownAnswer[];
}

const show = (answers: readonly ClusterAnswer[]): readonly ShownAnswer[] =>
  answers.map((answer) => ({ ...answer, reasons: describeClusterReasons(answer.reasons) }));

/**
 * Results of pull clusters, remembered while the caller holds the request and no cluster changes:
 * doors repeat the same request for each of many jobs.
 */
class PullingAnswers {
  readonly #known = new WeakMap<readonly RequestedPart[], KnownAnswers>();

  *of(
    state: State,
    parts: readonly RequestedPart[],
    names: readonly string[] | undefined,
  ): Generator<undefined, readonly Answered[]> {
    const version = answersVersion(state);
    let known = this.#known.get(parts);
    if (known?.version !== version) {
      const answers = yield* answerEach(state, parts, ({ resources }) =>
        pullingAnswers(state, resources),
      );
      known = { version, answers, byNames: new WeakMap() };
      this.#known.set(parts, known);
    }
    return names === undefined ? known.answers : narrowed(known, names);
  }
}

interface KnownAnswers {
  readonly version: string;
  readonly answers: readonly Answered[];
  /** The same for some clusters: a caller's list is the same object from job to job. */
  readonly byNames: WeakMap<readonly string[], readonly Answered[]>;
}

function narrowed({ answers, byNames }: KnownAnswers, names: readonly string[]) {
  const found = byNames.get(names) ?? answers.map((one) => named(one, names));
  byNames.set(names, found);
  return found;
}

function named({ name: part, clusters }: Answered, names: readonly string[]): Answered {
  const known = new Map<string, ShownAnswer>(clusters.map((answer) => [answer.cluster, answer]));
  const found: ShownAnswer[] = [];
  for (const name of names) {
    const answer = known.get(name);
    if (answer !== undefined) found.push(answer);
  }
  return { name: part, clusters: found };
}

async function readQuery(
  { ask, selection, pulling }: SatisfyQuery,
  { reader, policy: { select } }: OperationContext,
): Promise<Asked> {
  const choosing = (parameters: unknown): Choosing | undefined =>
    selection && toChoosing(selection, parameters, select);
  if (ask.kind === "request") {
    const resources = readingDocument(() => readResourceChoice(ask.request, "request"));
    const parts = [{ name: "request", resources, ofNodes: resources }];
    return { parts, choosing: choosing({}), pulling };
  }
  if (ask.kind === "parts") {
    return { parts: ask.parts, choosing: choosing(ask.parameters), pulling };
  }
  const given = ask.jobspec;
  const jobspec = typeof given === "string" ? await reader.jobspec(given) : given;
  const parts = requestedParts(jobspec);
  if (parts.length === 0) {
    throw unprocessable("jobspec", "requests no cluster: all of its tasks are local");
  }
  return { parts, choosing: choosing(parametersOf(jobspec)), pulling };
}

function toChoosing(
  selection: NonNullable<SatisfyQuery["selection"]>,
  ofJobspec: unknown,
  select: Select,
): Choosing {
  checkSelectSize(selection, "selection");
  const { strategy, options = {}, parameters = {} } = selection;
  if (!isRecord(options)) throw invalid("selection.options", "must be an object");
  if (selection.options !== undefined) checkHasStrategy(selection, "selection");
  const own = readValues(ofJobspec, "attributes.parameter");
  return {
    strategy: strategy ?? "server",
    select: strategy === undefined ? select : undefined,
    options,
    parameters: { ...own, ...readValues(parameters, "selection.parameters") },
  };
}

/** Yields between slices. */
function* answer(
  state: State,
  { parts, choosing, pulling }: Asked,
  known: PullingAnswers,
  random: () => number,
): Generator<undefined, Omit<SatisfyView, "revision">> {
  checkCount(state, parts);
  const tasks = yield* answerAll(state, parts, pulling, known);
  const chosen = choosing && chooseForAll(state, answersOf(tasks), choosing, random);
  const { ever, now } = inAllParts(tasks);
  const oneAfterOther =
    pulling === undefined && parts.length > 1 ? yield* notAtOnce(state, parts, ever) : [];
  return {
    ever,
    now,
    tasks,
    oneAfterOther,
    ...(chosen === undefined ? {} : { selection: toSelectionView(chosen) }),
  };
}

function checkCount(state: State, parts: readonly RequestedPart[]): void {
  const answers = parts.length * state.clusters.rows.size;
  if (answers > limits.satisfyAnswersMax) {
    throw new AppError(
      "exhausted",
      `${parts.length} tasks and ${state.clusters.rows.size} clusters are more than ` +
        `${limits.satisfyAnswersMax} answers; send fewer tasks at once`,
    );
  }
}

/** The results of pull clusters, and the version of the clusters that the first slice saw. */
function* answerPulling(
  state: State,
  parts: readonly RequestedPart[],
  names: readonly string[],
  known: PullingAnswers,
): Generator<undefined, { readonly tasks: readonly Answered[]; readonly version: string }> {
  checkCount(state, parts);
  const version = answersVersion(state);
  return { tasks: yield* answerAll(state, parts, { names }, known), version };
}

function* answerAll(
  state: State,
  parts: readonly RequestedPart[],
  pulling: Asked["pulling"],
  known: PullingAnswers,
): Generator<undefined, readonly Answered[]> {
  if (parts.length === 0) {
    return [{ name: "anything", clusters: show(satisfyEmptyRequest(state, pulling?.names)) }];
  }
  if (pulling !== undefined) return yield* known.of(state, parts, pulling.names);
  return yield* answerEach(
    state,
    parts,
    ({ resources, ofNodes }) => satisfyChoice(state, resources, ofNodes).clusters,
  );
}

/** Matches tasks with equal requests once. */
function* answerEach(
  state: State,
  parts: readonly RequestedPart[],
  answerPart: (part: RequestedPart) => readonly ClusterAnswer[],
): Generator<undefined, readonly Answered[]> {
  const total = new MatchTotal();
  const slicer = new Slicer();
  const known = new Map<string, readonly ShownAnswer[]>();
  const answers: Answered[] = [];
  for (const part of parts) {
    const key = JSON.stringify([part.resources, part.ofNodes]);
    let clusters = known.get(key);
    if (clusters === undefined) {
      const { compiled } = graphRequest(part.resources, "resources");
      yield* state.clusters.graphs.matchAll(compiled, total, { reasons: true, slicer });
      clusters = yield* slicer.next(() => total.count(() => show(answerPart(part))));
      known.set(key, clusters);
    }
    answers.push({ name: part.name, clusters });
  }
  return answers;
}

const knownAnswers = new WeakMap<readonly Answered[], readonly (readonly ShownAnswer[])[]>();

/** The same list for the same results: the candidates that follow from it are remembered with it. */
function answersOf(tasks: readonly Answered[]): readonly (readonly ShownAnswer[])[] {
  let answers = knownAnswers.get(tasks);
  if (answers === undefined) {
    answers = tasks.map(({ clusters }) => clusters);
    knownAnswers.set(tasks, answers);
  }
  return answers;
}

/** Those of the pull clusters that could run each part, but not all parts at the same time. */
function* notAtOnce(
  state: State,
  parts: readonly RequestedPart[],
  names: readonly string[],
): Generator<undefined, readonly string[]> {
  const isPulling = (name: string): boolean =>
    state.clusters.get(clusterId(name))?.kind === "pulling";
  const pulling = names.filter(isPulling);
  if (pulling.length === 0) return [];
  const trees = parts.flatMap(({ resources }) => resources[0] ?? []);
  // More than the limit of one request: no cluster runs all of them at once.
  if (sizeOf(trees) > limits.requestVerticesMax) return pulling;
  const together = [trees];
  const total = new MatchTotal();
  const slicer = new Slicer();
  const { compiled } = graphRequest(together, "resources");
  yield* state.clusters.graphs.matchAll(compiled, total, { reasons: false, slicer });
  const answers = yield* slicer.next(() => total.count(() => pullingAnswers(state, together)));
  const atOnce = new Set(answers.filter(({ ever }) => ever).map(({ cluster }) => String(cluster)));
  return pulling.filter((name) => !atOnce.has(name));
}

const sizeOf = (trees: readonly ResourceRequest[]): number =>
  trees.reduce((sum, { with: inside }) => sum + 1 + sizeOf(inside), 0);

interface InAllParts {
  readonly ever: readonly string[];
  readonly now: readonly string[];
}

const knownInAll = new WeakMap<readonly Answered[], InAllParts>();

/** The clusters that could run each part. */
function inAllParts(tasks: readonly Answered[]): InAllParts {
  const before = knownInAll.get(tasks);
  if (before !== undefined) return before;
  const parts = tasks.map(({ clusters }) => clusters);
  const found = { ever: inAll(parts, (one) => one.ever), now: inAll(parts, (one) => one.now) };
  knownInAll.set(tasks, found);
  return found;
}

function inAll(
  parts: readonly (readonly ShownAnswer[])[],
  isSo: (answer: ShownAnswer) => boolean,
): readonly string[] {
  const [first = [], ...others] = parts.map((answers) =>
    answers.filter(isSo).map(({ cluster }) => cluster as string),
  );
  const sets = others.map((names) => new Set(names));
  return sets.length === 0 ? first : first.filter((name) => sets.every((names) => names.has(name)));
}

function toSelectionView({ strategy, ranked, dropped }: Chosen): SelectionView {
  const [chosen] = ranked;
  return {
    strategy,
    ...(chosen === undefined ? {} : { chosen }),
    ranked,
    dropped: dropped.map(showDropped),
  };
}

const showDropped = ({ name, reason }: Dropped): SelectionView["dropped"][number] => ({
  name,
  reason: describeDrop(reason),
});
