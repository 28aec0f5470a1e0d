import { jobId, nodeId } from "../../../src/core/model/ids.ts";
import { toJobSpec } from "../../../src/core/model/job/job-spec.ts";
import type { Task } from "../../../src/core/model/job/task.ts";
import type { RunEvent } from "../../../src/core/state/command.ts";
import { isJobEnded } from "../../../src/core/model/progress.ts";
import { AppError } from "../../../src/lib/errors.ts";
import { SeededNumbers } from "../../../src/lib/seeded-numbers.ts";
import { aHello } from "../../../src/testing/builders.ts";
import { readBack } from "../../../src/testing/check/check-state.ts";
import { World } from "../../../src/testing/world.ts";
import {
  Broken,
  checkEdges,
  checkEnded,
  checkIndexes,
  checkReadBack,
  type EdgeChecker,
} from "./checkers.ts";
import { type EdgeRun, isDone, SimulatedEdge } from "./edge.ts";

export interface EdgeSimulation {
  readonly seed: number;
  readonly edges: number;
  readonly jobs: number;
  /** The duration of faults; afterwards everything heals. */
  readonly steps: number;
}

export interface EdgeOutcome {
  readonly seed: number;
  readonly failure: { readonly checker: EdgeChecker; readonly message: string } | undefined;
  readonly shares: number;
  readonly restarts: number;
}

const STEP_SECONDS = 5;
const SPLITS = ["earliest", "fewest", "spread"] as const;

/** Edges that lose power and links, driven directly on the core, from a seed. */
export function simulateEdges(options: EdgeSimulation): EdgeOutcome {
  const simulation = new Edges(options);
  let failure: EdgeOutcome["failure"];
  try {
    simulation.run();
  } catch (error) {
    const checker = error instanceof Broken ? error.checker : "core-stays-sound";
    failure = { checker, message: error instanceof Error ? error.message : String(error) };
  }
  return { seed: options.seed, failure, ...simulation.counts };
}

class Edges {
  readonly counts = { shares: 0, restarts: 0 };
  readonly #options: EdgeSimulation;
  readonly #numbers: SeededNumbers;
  readonly #world = new World();
  readonly #edges: readonly SimulatedEdge[];
  readonly #byName: ReadonlyMap<string, SimulatedEdge>;
  /** By job, index and attempt. */
  readonly #runs = new Map<string, EdgeRun>();
  #session = 0;
  #submitted = 0;

  constructor(options: EdgeSimulation) {
    this.#options = options;
    this.#numbers = new SeededNumbers(options.seed);
    this.#edges = Array.from({ length: options.edges }, (_, at) => {
      return new SimulatedEdge(`e${at}`, at % 5 === 4); // one of five is a whole site
    });
    this.#byName = new Map(this.#edges.map((edge) => [edge.name, edge]));
  }

  run(): void {
    for (const edge of this.#edges) this.#connect(edge);
    for (let step = 0; step < this.#options.steps; step++) {
      this.#submitSome();
      for (const edge of this.#edges) this.#disturb(edge);
      this.#cancelSome();
      this.#step(step % 10 === 0);
      if (this.#chance(100)) this.#restart();
    }
    this.#heal();
    checkEnded(this.#world.state);
    checkReadBack(this.#world.state, readBack(this.#world.changes));
  }

  /** All edges are connected and have power: all remaining work gets done. */
  #heal(): void {
    for (let step = 0; step < 800; step++) {
      for (const edge of this.#edges) {
        edge.watts = 20;
        if (edge.isLinked) this.#tellPower(edge);
        else this.#connect(edge);
      }
      this.#step(step % 50 === 0);
      if ([...this.#world.state.jobs.openRecords()].every(({ progress }) => isJobEnded(progress)))
        break;
    }
    this.#check(true);
  }

  #below(count: number): number {
    return Math.floor(this.#numbers.fraction() * count);
  }

  #chance(oneIn: number): boolean {
    return this.#below(oneIn) === 0;
  }

  #submitSome(): void {
    const left = this.#options.jobs - this.#submitted;
    const count = Math.min(left, Math.ceil(this.#options.jobs / this.#options.steps));
    const submissions = Array.from({ length: count }, () => {
      const wattSeconds = this.#chance(20) ? 0 : 1 + this.#below(2_000);
      const greatestShare = this.#chance(2) ? undefined : 50 + this.#below(300);
      const leastShare = this.#chance(2) ? undefined : 1 + this.#below(20);
      const most = Math.min(Math.max(1, wattSeconds), greatestShare ?? Infinity);
      const least = leastShare === undefined ? undefined : Math.min(leastShare, most);
      const split = SPLITS[this.#below(SPLITS.length)];
      const spec = toJobSpec({
        group: `g${this.#below(3)}`,
        retries: { max: this.#below(3) },
        energy: { wattSeconds, greatestShare, leastShare: least, split },
      });
      return { spec, idempotencyKey: undefined };
    });
    if (submissions.length === 0) return;
    this.#submitted += count;
    const { nowMs } = this.#world;
    this.#world.do({ kind: "submit-jobs", submissions, nowMs, mustBePossible: true });
  }

  #cancelSome(): void {
    if (!this.#chance(4) || this.#submitted === 0) return;
    const id = jobId(1 + this.#below(this.#submitted));
    const index = this.#chance(2) ? undefined : this.#below(3);
    const { nowMs } = this.#world;
    try {
      this.#world.do({ kind: "cancel-job", jobId: id, index, reason: "enough", nowMs });
    } catch (error) {
      if (!(error instanceof AppError)) throw error; // no such share
    }
  }

  /** Power, links and machines fail and recover. */
  #disturb(edge: SimulatedEdge): void {
    if (this.#chance(12)) {
      edge.draw(this.#numbers);
      if (edge.isLinked) this.#tellPower(edge);
    }
    if (edge.isLinked && this.#chance(25)) {
      this.#disconnect(edge);
      // Its machine may have restarted, and lost its data.
      if (this.#chance(3)) {
        edge.bootId++;
        edge.runs = [];
      }
    } else if (!edge.isLinked && this.#chance(6)) this.#connect(edge);
  }

  #connect(edge: SimulatedEdge): void {
    edge.session = ++this.#session;
    edge.isLinked = true;
    const { nowMs } = this.#world;
    const { starts, stops } = this.#world.do({
      kind: "connect-node",
      ...aHello(edge.name, {
        bootId: `boot-${edge.bootId}`,
        power: edge.power,
        runs: edge.runs.map(({ ref }) => ref),
        session: edge.session,
        nowMs,
      }),
    });
    for (const { jobId: id, index, attempt } of stops)
      this.#stop(edge, { jobId: id, index, attempt });
    for (const run of starts) this.#start(edge, run, run.share ?? 0);
  }

  #disconnect(edge: SimulatedEdge): void {
    edge.isLinked = false;
    const { nowMs } = this.#world;
    const at = { nodeId: nodeId(edge.name), session: edge.session };
    this.#world.do({ kind: "disconnect-node", ...at, nowMs });
  }

  #tellPower({ name, session, power }: SimulatedEdge): void {
    const { nowMs } = this.#world;
    this.#world.do({ kind: "report-power", nodeId: nodeId(name), session, power, nowMs });
  }

  #restart(): void {
    this.counts.restarts++;
    for (const edge of this.#edges) edge.isLinked = false;
    this.#world.restart();
    const { nowMs, state } = this.#world;
    this.#world.do({ kind: "recover", nowMs, lastJobId: state.counter.lastJobId });
  }

  #step(isChecked: boolean): void {
    const world = this.#world;
    world.nowMs += STEP_SECONDS * 1_000;
    for (const edge of this.#edges) this.#work(edge);
    const settings = { nodeLostAfterMs: 30_000, finishedTasksMax: 1e6, finishedAgeMsMax: 1e12 };
    world.do({ kind: "tick", nowMs: world.nowMs, settings });
    const from = world.changes.length;
    world.settle();
    world.plan();
    // Durable changes are sent to connected edges.
    for (const change of world.changes.slice(from)) {
      if (change.table === "task" && change.row.state.kind === "assigned") this.#placed(change.row);
    }
    for (const edge of this.#edges) this.#stopUnwanted(edge);
    this.#check(isChecked);
  }

  #check(isAll: boolean): void {
    const usedBy = ({ jobId: id, index, attempt }: Task): number =>
      this.#runs.get(`${id}.${index}.${attempt}`)?.usedWattSeconds ?? 0;
    const mayTake = (node: string): number => (this.#byName.get(node)?.isSite === true ? 4 : 1);
    checkEdges(this.#world.state, { usedBy, mayTake });
    if (isAll) checkIndexes(this.#world.state);
  }

  #placed({ jobId: id, index, attempt, state, share = 0 }: Task): void {
    this.counts.shares++;
    const edge = "nodeId" in state ? this.#byName.get(state.nodeId ?? "") : undefined;
    const there = edge && this.#world.state.nodes.get(nodeId(edge.name))?.tasks.size;
    if (edge?.isSite === true && (there ?? 0) > edge.sharesMax) {
      const gets = `${edge.name} takes ${edge.sharesMax} and gets ${id}.${index} as one of ${there}`;
      throw new Broken("one-share-an-edge", gets);
    }
    if (edge?.isLinked === true) this.#start(edge, { jobId: id, index, attempt }, share);
  }

  #start(edge: SimulatedEdge, { jobId: id, index, attempt }: EdgeRun["ref"], share: number): void {
    const key = `${id}.${index}.${attempt}`;
    const ref = { jobId: id, index, attempt };
    const others = edge.runs.filter((run) => run !== this.#runs.get(key));
    if (!edge.isSite && others.length > 0) {
      throw new Broken("one-share-an-edge", `${edge.name} works at a share and gets ${key}`);
    }
    const run = { ref, wattSeconds: share, usedWattSeconds: 0, isStopped: false };
    this.#runs.set(key, run);
    edge.runs = [...others, run];
    this.#report(edge, { kind: "started", run: ref, startedAtMs: this.#world.nowMs });
  }

  #stop(edge: SimulatedEdge, ref: EdgeRun["ref"]): void {
    for (const run of edge.runs) {
      if (run.ref.jobId === ref.jobId && run.ref.index === ref.index) run.isStopped = true;
    }
  }

  #stopUnwanted(edge: SimulatedEdge): void {
    if (!edge.isLinked) return;
    for (const run of edge.runs) {
      if (this.#world.state.task(run.ref)?.state.kind === "stopping") run.isStopped = true;
    }
  }

  #work(edge: SimulatedEdge): void {
    edge.work(STEP_SECONDS);
    for (const run of edge.isLinked ? edge.runs : []) this.#tellOf(edge, run);
  }

  #tellOf(edge: SimulatedEdge, run: EdgeRun): void {
    const percent = Math.floor((run.usedWattSeconds * 10_000) / run.wattSeconds) / 100;
    const progress = { percent, message: "" };
    if (!isDone(run)) {
      if (!this.#chance(3)) return; // not every message arrives
      const { nowMs } = this.#world;
      const report = { run: run.ref, nodeId: nodeId(edge.name), progress };
      this.#world.do({ kind: "report-progress", reports: [report], nowMs });
      return;
    }
    edge.runs = edge.runs.filter((other) => other !== run);
    const fails = this.#chance(60);
    const outcome = run.isStopped
      ? ({ kind: "stopped" } as const)
      : fails
        ? ({ kind: "exited", exitCode: 1 } as const)
        : ({ kind: "succeeded" } as const);
    const at = { startedAtMs: undefined, endedAtMs: this.#world.nowMs };
    this.#report(edge, { kind: "ended", run: run.ref, ...at, outcome, progress });
  }

  #report({ name, session }: SimulatedEdge, event: RunEvent): void {
    const { nowMs } = this.#world;
    const at = { nodeId: nodeId(name), session, nowMs };
    this.#world.do({ kind: "report-runs", ...at, events: [event] });
  }
}
