import { readValues } from "../core/graph/cluster-state.ts";
import { isRecord } from "../core/graph/metadata.ts";
import { readResourceChoice } from "../core/graph/read-request.ts";
import { askedParts, type AskedPart, parametersOf } from "../core/jobspec/asked-parts.ts";
import { parseJobspec } from "../core/jobspec/parse.ts";
import { chooseForAll, type Choosing } from "../core/scheduler/choose-for-all.ts";
import {
  type ClusterAnswer,
  pullingAnswers,
  satisfyChoice,
  satisfyNamed,
  satisfyNothing,
} from "../core/scheduler/satisfy.ts";
import type { Select } from "../core/scheduler/select/strategy.ts";
import type { State } from "../core/state/state.ts";
import { AppError, invalid } from "../lib/errors.ts";
import { limits } from "../limits.ts";
import type { OperationContext } from "./create-operations.ts";
import type { Operations, SatisfyQuery } from "./operations.ts";
import type { SatisfyView, SelectionView } from "./views.ts";

/** What was asked, read and checked. */
interface Asked {
  readonly parts: readonly AskedPart[];
  readonly choosing: Choosing | undefined;
  readonly pulling: SatisfyQuery["pulling"];
}

export function createSatisfyOperation(context: OperationContext): Pick<Operations, "satisfy"> {
  const { loop, random, policy } = context;
  return {
    async satisfy(query) {
      const asked = readQuery(query, policy.select);
      return loop.read((state, revision) => ({
        ...answer(state, asked, () => random.fraction()),
        revision,
      }));
    },
  };
}

function readQuery({ ask, selection, pulling }: SatisfyQuery, select: Select): Asked {
  const choosing = (parameters: unknown): Choosing | undefined =>
    selection && toChoosing(selection, parameters, select);
  if (ask.kind === "request") {
    const resources = readResourceChoice(ask.request, "request");
    const parts = [{ name: "request", resources, ofNodes: resources }];
    return { parts, choosing: choosing({}), pulling };
  }
  if (ask.kind === "parts") {
    return { parts: ask.parts, choosing: choosing(ask.parameters), pulling };
  }
  const jobspec = parseJobspec(ask.text);
  const parts = askedParts(jobspec);
  if (parts.length === 0) {
    throw invalid("jobspec", "asks nothing of a cluster: all of its tasks are local");
  }
  return { parts, choosing: choosing(parametersOf(jobspec)), pulling };
}

function toChoosing(
  { strategy, options = {}, parameters = {} }: NonNullable<SatisfyQuery["selection"]>,
  ofJobspec: unknown,
  select: Select,
): Choosing {
  if (!isRecord(options)) throw invalid("selection.options", "must be an object");
  const own = readValues(ofJobspec, "attributes.parameter");
  return {
    strategy: strategy ?? "server",
    select: strategy === undefined ? select : undefined,
    options,
    parameters: { ...own, ...readValues(parameters, "selection.parameters") },
  };
}

function answer(
  state: State,
  { parts, choosing, pulling }: Asked,
  random: () => number,
): Omit<SatisfyView, "revision"> {
  const answers = parts.length * state.clusters.rows.size;
  if (answers > limits.satisfyAnswersMax) {
    throw new AppError(
      "exhausted",
      `${parts.length} tasks and ${state.clusters.rows.size} clusters are more than ` +
        `${limits.satisfyAnswersMax} answers; ask for fewer tasks at once`,
    );
  }
  const tasks = answerEach(state, parts, pulling);
  const ofEach = tasks.map(({ clusters }) => clusters);
  const chosen = choosing && chooseForAll(state, ofEach, choosing, random);
  return {
    ever: inAll(ofEach, ({ ever }) => ever),
    now: inAll(ofEach, ({ now }) => now),
    tasks,
    ...(chosen === undefined ? {} : { selection: toSelectionView(chosen) }),
  };
}

/** Tasks that ask for the same are answered once. */
function answerEach(
  state: State,
  parts: readonly AskedPart[],
  pulling: Asked["pulling"],
): { readonly name: string; readonly clusters: readonly ClusterAnswer[] }[] {
  if (parts.length === 0) {
    return [{ name: "anything", clusters: satisfyNothing(state, pulling?.names) }];
  }
  const known = new Map<string, readonly ClusterAnswer[]>();
  return parts.map(({ name, resources, ofNodes }) => {
    const key = JSON.stringify([resources, ofNodes]);
    let clusters = known.get(key);
    if (clusters === undefined) {
      clusters = answerPart(state, { resources, ofNodes }, pulling);
      known.set(key, clusters);
    }
    return { name, clusters };
  });
}

function answerPart(
  state: State,
  { resources, ofNodes }: Pick<AskedPart, "resources" | "ofNodes">,
  pulling: Asked["pulling"],
): readonly ClusterAnswer[] {
  if (pulling === undefined) return satisfyChoice(state, resources, ofNodes).clusters;
  return pulling.names === undefined
    ? pullingAnswers(state, resources)
    : satisfyNamed(state, resources, pulling.names);
}

function inAll(
  parts: readonly (readonly ClusterAnswer[])[],
  isSo: (answer: ClusterAnswer) => boolean,
): readonly string[] {
  const [first = [], ...others] = parts.map(
    (answers) => new Set(answers.filter(isSo).map(({ cluster }) => cluster)),
  );
  return [...first].filter((name) => others.every((names) => names.has(name)));
}

function toSelectionView({
  strategy,
  ranked,
  dropped,
}: Omit<SelectionView, "chosen">): SelectionView {
  const [chosen] = ranked;
  return { strategy, ...(chosen === undefined ? {} : { chosen }), ranked, dropped };
}
