import { policyNames } from "../../src/core/scheduler/nodes/node-policy.ts";
import { toJobSpec, type JobSpecInput } from "../../src/core/model/job/job-spec.ts";
import { Core } from "../support/core.ts";
import { atLeast, type Bench, type Case, type Measure } from "../support/part.ts";

const NODES = 1_000;
const CLUSTERS = 100;
const CPUS_PER_NODE = 64;
const STEPS = 50_000;

/** The requests of jobs: all equal, or each for one of the clusters and one of four sizes. */
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
  for (let at = 0; at < NODES; at++) {
    core.connect(at, { cluster: `c${at % CLUSTERS}`, cpus: CPUS_PER_NODE });
  }
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
    // Spread over all running tasks, and the same in every run of the bench.
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
