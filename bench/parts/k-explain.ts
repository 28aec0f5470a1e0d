import { nodeId } from "../../src/core/model/ids.ts";
import { toJobSpec, type JobSpecInput } from "../../src/core/model/job/job-spec.ts";
import type { JobSpec } from "../../src/core/model/job/job.ts";
import { matchGraphs } from "../../src/core/scheduler/nodes/node-classes.ts";
import { createPolicy } from "../../src/core/scheduler/policy.ts";
import { dryRun } from "../../src/core/scheduler/explain/dry-run.ts";
import { decide } from "../../src/core/state/decide.ts";
import { State } from "../../src/core/state/state.ts";
import { limits } from "../../src/limits.ts";
import { explainPlaces } from "../../src/server/views/explain/explain-job.ts";
import { cheapestChange } from "../../src/testing/slow-explain/cheapest-change.ts";
import { outlook } from "../../src/testing/slow-explain/explain.ts";
import { clusterAnswers } from "../../src/testing/slow-explain/places.ts";
import { median } from "../support/numbers.ts";
import { atMost, type Case, type Measure } from "../support/part.ts";

const ROUNDS = 7;
const REFERENCE_ROUNDS = 3; // it takes seconds
const GIB = 1024 ** 3;
const CLUSTERS = 10;
const policy = createPolicy({ policy: "spread" }, () => 0);

const requests: Readonly<Record<string, JobSpecInput>> = {
  amounts: { command: ["true"], resources: { cpu: 1_000, memory: GIB } },
  graph: {
    command: ["true"],
    request: [[{ type: "node", count: 1, with: [{ type: "core", count: 1_000 }] }]],
  },
};

/** Why a job fits nowhere: the pure core in this process. */
export const explanations: Case = {
  id: "k.explain",
  what: "explaining a job that fits on no node, on the deciding thread",
  async run(bench) {
    return [1_000, 10_000].flatMap((nodes) =>
      [true, false].flatMap((areAlike) => measure(bench.count(nodes), areAlike)),
    );
  },
};

function connect(state: State, at: number, areAlike: boolean): void {
  const { changes } = decide(state, {
    kind: "connect-node",
    nodeId: nodeId(`node-${at}`),
    cluster: `c${at % CLUSTERS}`,
    agentKeyHash: `key-${at}`,
    bootId: "boot",
    agentVersion: "bench",
    capacity: { cpu: 64_000, memory: 256 * GIB + (areAlike ? 0 : at * 4_096) },
    labels: { host: `node-${at}` },
    runs: [],
    session: at + 1,
    nowMs: 0,
  });
  for (const change of changes) state.apply(change);
}

function measure(nodes: number, areAlike: boolean): readonly Measure[] {
  const state = new State();
  for (let at = 0; at < nodes; at++) connect(state, at, areAlike);
  const where = `${nodes} nodes, ${areAlike ? "alike" : "all different"}`;
  return Object.entries(requests).flatMap(([kind, input]) => {
    const spec = toJobSpec(input);
    const bounds = {
      candidatesMax: limits.candidatesPerPlacementMax,
      placementsMax: limits.trialPlacementsMax,
      stepsMax: limits.stepsPerSliceMax,
    };
    const explain = (): unknown => explainPlaces(state, spec, policy);
    const askEvery = (): void => {
      outlook(spec, { nodes: state.nodes.values(), filters: state.filters });
      clusterAnswers(state, spec, policy);
      cheapestChange(state, spec, policy);
    };
    const slices = longestSlice(state, spec.request);
    const before = timed(REFERENCE_ROUNDS, askEvery);
    const dryRunMs = timed(ROUNDS, () => {
      dryRun(state, [spec], policy, bounds);
      explain();
    });
    const budget = { must: atMost(areAlike ? 25 : 100) };
    const sliced =
      slices === undefined ? "" : `; before it, slices of up to ${slices.toFixed(1)} ms`;
    const note = `${before.toFixed(1)} ms asking every node${sliced}`;
    return [
      {
        name: `explain, ${kind}, ${where}`,
        value: timed(ROUNDS, explain),
        unit: "ms",
        ...budget,
        note,
      },
      { name: `dry run, ${kind}, ${where}`, value: dryRunMs, unit: "ms", ...budget },
    ];
  });
}

/** The steps of making graphs of nodes and matching them, which happens before in separate turns. */
function longestSlice(state: State, request: JobSpec["request"]): number | undefined {
  if (request === undefined) return undefined;
  const slices = matchGraphs(state.nodes, request);
  let longest = 0;
  for (;;) {
    let isDone: boolean | undefined;
    const work = (): void => {
      isDone = slices.next().done;
    };
    longest = Math.max(longest, timed(1, work));
    if (isDone === true) return longest;
  }
}

/** CPU time, the median of some rounds. */
function timed(rounds: number, work: () => void): number {
  return median(
    Array.from({ length: rounds }, () => {
      const before = process.cpuUsage();
      work();
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1_000;
    }),
  );
}
