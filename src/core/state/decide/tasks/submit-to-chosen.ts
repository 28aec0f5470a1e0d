import { invariant } from "../../../../lib/invariant.ts";
import { limits } from "../../../../limits.ts";
import { submitterTo } from "../../../access/principal.ts";
import { MatchTotal } from "../../../graph/match/match-total.ts";
import { chooseForAll } from "../../../scheduler/clusters/choose-for-all.ts";
import {
  answersVersion,
  pullingAnswers,
  satisfyEmptyRequest,
} from "../../../scheduler/explain/satisfy.ts";
import type { Change } from "../../change.ts";
import type { CandidateAnswer, ChosenSubmission } from "../../chosen-submission.ts";
import type { CommandOf, Decision } from "../../command.ts";
import type { State } from "../../state.ts";
import { submitJobs } from "./submit-jobs.ts";

/**
 * Chooses one of several pull clusters and submits a job to it, in one decision: the cluster cannot be
 * deleted, nor its state change, in between. The next ones of the ranking are stored with the job.
 */
export function submitToChosen(
  state: State,
  command: CommandOf<"submit-to-chosen">,
): Decision<ChosenSubmission> {
  const { submission, choosing, fraction, nowMs } = command;
  const { ranked, dropped } = chooseForAll(
    state,
    answersTo(state, command),
    choosing,
    () => fraction,
  );
  const [cluster, ...others] = ranked;
  if (cluster === undefined) return { changes: [], answer: { kind: "none", dropped } };
  const spec = state.clusterSpecs.of(submission.spec, cluster);
  const { changes, answer } = submitJobs(state, {
    kind: "submit-jobs",
    submissions: [{ ...submission, spec }],
    by: submitterTo(cluster),
    nowMs,
  });
  const [submitted] = answer;
  invariant(submitted !== undefined, "each submission is answered");
  const alternatives = others.slice(0, limits.alternativeClustersMax);
  return {
    changes: alternatives.length === 0 ? changes : changes.map(withAlternatives(alternatives)),
    answer: { kind: "submitted", cluster, ...submitted },
  };
}

const withAlternatives =
  (alternatives: readonly string[]) =>
  (change: Change): Change =>
    change.table === "job" && "row" in change
      ? { ...change, row: { ...change.row, alternatives } }
      : change;

/** The answers that were computed before the command was sent, unless a cluster has changed since. */
function answersTo(
  state: State,
  { resources, names, prepared }: CommandOf<"submit-to-chosen">,
): readonly (readonly CandidateAnswer[])[] {
  if (prepared.version === answersVersion(state)) return prepared.answers;
  if (resources.length === 0) return [satisfyEmptyRequest(state, names)];
  const wanted = new Set(names);
  const total = new MatchTotal();
  return resources.map((choice) =>
    total.count(() => pullingAnswers(state, choice)).filter(({ cluster }) => wanted.has(cluster)),
  );
}
