import { edited, type Mutant, swap } from "./mutant.ts";

const EFFECTS = "core/state/effects.ts";
const TASK_CODEC = "core/state/jobs/task-codec.ts";
const PLACE = "core/state/decide/tasks/place-task.ts";
const CLUSTERS = "core/state/decide/clusters.ts";
const ACCEPTED = "core/state/decide/tasks/accepted-tasks.ts";
const LEDGER = "core/scheduler/ledger.ts";
const VERIFY = "core/scheduler/verify.ts";

/** Faults of what a task is given: parts of nodes, and clusters that pull. */
export const PLACEMENT_MUTANTS: readonly Mutant[] = [
  edited(
    "takes-forgotten",
    "placed-as-asked",
    "a row does not say what its task takes",
    swap(PLACE, "changesOf", "isOwn ? row : { ...row, takes }", "row"),
  ),
  edited(
    "exclusive-shares",
    "placed-as-asked",
    "an exclusive node is asked for its cores only",
    swap(
      "core/graph/match/compile-request.ts",
      "compileAlternative",
      "request.isExclusive || above.slot?.isExclusive === true",
      "above.slot?.isExclusive === true",
    ),
  ),
  edited(
    "binds-needs",
    "whole-nodes-are-alone",
    "of a node is counted what the job needs, not what the task takes; the judge counts so, too",
    swap(EFFECTS, "bind", "after.takes ?? needs", "needs"),
    swap(EFFECTS, "bind", "before.takes ?? needs", "needs"),
    swap(LEDGER, "Ledger.moved", "after.takes ?? needs", "needs"),
    swap(LEDGER, "Ledger.moved", "before?.takes ?? needs", "needs"),
  ),
  edited(
    "releases-needs",
    "indexes-agree-with-rows",
    "what is given back is what the job needs",
    swap(EFFECTS, "bind", "before.takes ?? needs", "needs"),
  ),
  edited(
    "takes-not-read",
    "memory-equals-disk",
    "what a task takes is not read back",
    swap(TASK_CODEC, "readTask", "stored.takes === undefined", "true"),
  ),
  edited(
    "any-graph",
    "offered-as-asked",
    "planner and judge take every cluster to have what is asked for",
    swap(
      "core/graph/cluster-graphs.ts",
      "ClusterGraphs.satisfy",
      "if (fits) matches.push($_); else mismatches.push($_);",
      "matches.push({ cluster, fits, alternative, slots });",
    ),
    swap(VERIFY, "verifyCluster", "clusters.graphs.match($_, $_).fits", "true"),
  ),
  edited(
    "offers-stay",
    "offers-have-clusters",
    "a cluster that is deleted keeps its offers",
    swap(CLUSTERS, "removeCluster", "changes.push(...withdrawAll(state, command));", ""),
  ),
  edited(
    "accepts-others",
    "one-taker-each",
    "a cluster takes what is offered to another",
    swap(ACCEPTED, "acceptTasks", "task.state.cluster !== cluster", "false"),
  ),
  edited(
    "accepted-stay",
    "offers-have-clusters",
    "what a cluster took outlives it",
    swap(CLUSTERS, "withdrawAll", "accepted.map($_)", "[]"),
  ),
  edited(
    "old-news-counts",
    "accepted-ends-were-reported",
    "news of an old attempt ends the new one",
    swap(ACCEPTED, "reportTasks", "event.attempt !== task.attempt", "false"),
  ),
  edited(
    "accepted-tasks-forgotten",
    "indexes-agree-with-rows",
    "an accepted task is missing from the index",
    swap(
      "core/state/jobs/accepted-tasks.ts",
      "AcceptedTasks.moved",
      "after !== undefined && isAcceptedTask(after)",
      "before === undefined && after !== undefined && isAcceptedTask(after)",
    ),
  ),
  edited(
    "credentials-stay",
    "indexes-agree-with-rows",
    "a cluster that is deleted can be spoken for",
    swap(CLUSTERS, "removeCluster", "changes.push(...removedWithCluster(state, id, by));", ""),
  ),
  edited(
    "nothing-counts",
    "counters-go-down",
    "what a cluster counts is not written",
    swap(PLACE, "changesOf", "status === undefined", "true"),
  ),
  edited(
    "requests-differ",
    "acknowledged-jobs-exist",
    "a request that was stored is not the same when it is read",
    swap(
      "core/state/jobs/job-codec.ts",
      "decodeTerms",
      "request && decodeChoice(request)",
      "request",
    ),
  ),
  edited(
    "state-unheard",
    "every-task-ends",
    "a class that requests a node is not looked at again when its cluster reports its state",
    swap("core/scheduler/request.ts", "dependsOnClusters", "asked.request !== undefined", "false"),
  ),
];
