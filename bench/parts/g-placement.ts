import { policyNames } from "../../src/core/scheduler/node-policy.ts";
import { nextPlacement } from "../../src/core/scheduler/plan.ts";
import { createPolicy } from "../../src/core/scheduler/policy.ts";
import { toJobSpec, type JobSpecInput } from "../../src/core/model/job-spec.ts";
import { nodeId } from "../../src/core/model/ids.ts";
import type { JobSpec } from "../../src/core/model/job.ts";
import type { Task } from "../../src/core/model/task.ts";
import type { Command, CommandOf } from "../../src/core/state/command.ts";
import { decide } from "../../src/core/state/decide.ts";
import { placeTask } from "../../src/core/state/decide/place-task.ts";
import { checkMove } from "../../src/core/state/check-move.ts";
import { State } from "../../src/core/state/state.ts";
import { limits } from "../../src/limits.ts";
import { atLeast, type Bench, type Case, type Measure } from "../support/part.ts";

const NODES = 1_000;
const CLUSTERS = 100;
const CPUS_PER_NODE = 64;
const STEPS = 50_000;
const SESSION = 1;

/** What jobs ask for: all the same, or each for one of the clusters and one of four sizes. */
const loads: Readonly<Record<string, (at: number) => JobSpecInput>> = {
  "one class": () => ({ command: ["true"] }),
  "400 classes": (at) => ({
    command: ["true"],
    resources: { cpu: 1 + (Math.floor(at / CLUSTERS) % 4) },
    placement: { cluster: `c${at % CLUSTERS}` },
  }),
};

/** Placement alone: the pure core in this process, no store, no wire. */
export const placement: Case = {
  id: "g.placement",
  what: `placements in the core alone: ${NODES} nodes in ${CLUSTERS} clusters`,
  async run(bench) {
    const measures: Measure[] = [];
    for (const policy of policyNames) {
      for (const load of Object.keys(loads)) measures.push(...measure(bench, policy, load));
    }
    return measures;
  },
};

function measure(bench: Bench, policy: string, load: string): Measure[] {
  const core = new Core(policy);
  const specOf = loads[load];
  for (let at = 0; at < NODES; at++) core.connect(at);
  const steps = bench.count(STEPS);
  const wanted = NODES * CPUS_PER_NODE + steps;
  const specs = Array.from({ length: wanted }, (_, at) => toJobSpec(specOf?.(at) ?? {}));
  core.submit(specs);
  const fillMs = performance.now();
  const running = core.place();
  const filled = running.length;
  const stepMs = performance.now();
  let placed = 0;
  for (let step = 0; step < steps; step++) {
    // Spread over all that run, and the same in every run of the bench.
    const at = (step * 7_919) % running.length;
    const ended = running[at];
    if (ended !== undefined) core.end(ended);
    const [next, ...more] = core.place();
    if (next !== undefined) running[at] = next;
    running.push(...more);
    placed += more.length + (next === undefined ? 0 : 1);
  }
  const endMs = performance.now();
  const rate = (count: number, ms: number): Pick<Measure, "value" | "unit" | "must"> => ({
    value: (count * 1_000) / ms,
    unit: "placements/s",
    must: atLeast(20_000),
  });
  bench.worked(filled + placed);
  return [
    {
      name: `fill, ${policy}, ${load}`,
      ...rate(filled, stepMs - fillMs),
      note: `${filled} placed`,
    },
    { name: `one ends, one is placed, ${policy}, ${load}`, ...rate(placed, endMs - stepMs) },
  ];
}

/** The state and the planner as the control loop drives them, and nothing else. */
class Core {
  readonly #state = new State();
  readonly #policy: string;

  constructor(policy: string) {
    this.#policy = policy;
  }

  connect(at: number): void {
    this.#do({
      kind: "connect-node",
      nodeId: nodeId(`n${at}`),
      cluster: `c${at % CLUSTERS}`,
      agentKeyHash: "hash",
      bootId: "boot",
      agentVersion: "bench",
      capacity: { cpu: CPUS_PER_NODE * 1_000, memory: 256 * 1024 ** 3 },
      labels: {},
      runs: [],
      session: SESSION,
      nowMs: 0,
    });
  }

  submit(specs: readonly JobSpec[]): void {
    const submissions = specs.map((spec) => ({ spec, idempotencyKey: undefined }));
    this.#do({ kind: "submit-jobs", submissions, by: "bench", nowMs: 0 });
  }

  end({ jobId, index, attempt, state }: Task): void {
    if (!("nodeId" in state) || state.nodeId === undefined) return;
    const run = { jobId, index, attempt };
    const outcome = { kind: "succeeded" } as const;
    const event = { kind: "ended", run, startedAtMs: 0, endedAtMs: 0, outcome } as const;
    const report = { nodeId: state.nodeId, session: SESSION, events: [event], nowMs: 0 };
    this.#do({ kind: "report-runs", ...report });
  }

  /** Places all that fits now. */
  place(): Task[] {
    const policy = createPolicy({ policy: this.#policy }, () => 0);
    const placed: Task[] = [];
    const bounds = {
      candidatesMax: limits.candidatesPerPlacementMax,
      wakeChecksMax: limits.wakeChecksPerRoundMax,
    };
    for (;;) {
      const next = nextPlacement(this.#state, policy, bounds);
      if (next === undefined) return placed;
      for (const change of placeTask(next, this.#state.clusters, 0)) {
        if (change.table === "task") {
          checkMove(this.#state, change.row);
          placed.push(change.row);
        }
        this.#state.apply(change);
      }
    }
  }

  #do<K extends Command["kind"]>(command: CommandOf<K>): void {
    for (const change of decide(this.#state, command).changes) this.#state.apply(change);
  }
}
