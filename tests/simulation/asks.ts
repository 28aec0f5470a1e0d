import type { JobSpecInput } from "../../src/core/model/job/job-spec.ts";
import type { Habits } from "./habits.ts";
import type { Seeded } from "./random.ts";

/** The request of one alternative to one node, in plain words: judges read this, never the request itself. */
export interface Wish {
  readonly cores: number;
  readonly memory: number;
  readonly gpus: number;
  /** No other task may be there. */
  readonly isWhole: boolean;
  /** Only where the subsystem "io" allows it. */
  readonly wantsIo: boolean;
}

/** A client's intention with a job. */
export interface Ask {
  /** By preference. */
  readonly wishes: readonly Wish[];
  /** Whether it requests a graph: only then it may go to any cluster. */
  readonly isRequest: boolean;
  readonly cluster: string | undefined;
  readonly node: string | undefined;
  /** Only where a cluster reports free nodes. */
  readonly wantsFree: boolean;
}

/** The same in the form of the API. */
export type Demand = Pick<JobSpecInput, "resources" | "request" | "select" | "placement">;

export const PULLING = ["east", "west"] as const;
export const MANAGED = "default";

const NOTHING: Wish = { cores: 0, memory: 0, gpus: 0, isWhole: false, wantsIo: false };
const wish = (some: Partial<Wish>): Wish => ({ ...NOTHING, ...some });
const [ONE, TWO] = [wish({ cores: 1 }), wish({ cores: 2 })];

/** Every node meets the last alternative of each. */
const FORMS: readonly (readonly Wish[])[] = [
  [ONE],
  [TWO],
  [wish({ isWhole: true })],
  [wish({ cores: 1, isWhole: true })],
  [wish({ cores: 1, isWhole: true }), ONE],
  [TWO, ONE],
  [wish({ cores: 3 }), ONE],
  [wish({ gpus: 1 }), ONE],
  [wish({ gpus: 1 }), wish({ isWhole: true })],
  [wish({ cores: 2, wantsIo: true }), ONE],
  [wish({ cores: 1, isWhole: true, wantsIo: true }), TWO],
];

/** In the form of the API. A node without inner requests means the whole node. */
const toTree = ({ cores, gpus, isWhole, wantsIo }: Wish): object => ({
  type: "node",
  with: [
    ...(cores > 0 ? [{ type: "core", count: cores }] : []),
    ...(gpus > 0 ? [{ type: "gpu", count: gpus }] : []),
  ],
  ...(isWhole && cores > 0 ? { isExclusive: true } : {}),
  ...(wantsIo ? { requires: [{ subsystem: "io", conditions: [IS_SHM] }] } : {}),
});

const IS_SHM = { kind: "one-of", field: "type", values: ["shm"] };

const FREE_ONLY = { priority: 1, steps: [{ filter: "nodes_free > 0" }, { select: "first" }] };
const FREE_FIRST = [FREE_ONLY, { priority: 2, steps: [{ select: "random" }] }];
type Select = NonNullable<JobSpecInput["select"]>;
const FREE: Select = { strategy: "constraint", options: { priorities: [FREE_ONLY] } };
const SELECTS: readonly Select[] = [
  FREE,
  { strategy: "constraint", options: { priorities: FREE_FIRST } },
  { strategy: "first" },
  { strategy: "spread" },
  { strategy: "random" },
  { strategy: "round-robin" },
];

/** The request of a job, in the form of the API and as its judges read it. */
export function drawAsk(
  random: Seeded,
  nodes: readonly string[],
  habits: Habits,
): { readonly demand: Demand; readonly ask: Ask } {
  if (habits.isHasty && random.chance(0.8)) return ONE_CORE;
  const isRequest = random.chance(habits.requests);
  const node = random.chance(0.1) ? random.pick(nodes) : undefined;
  const names = node === undefined && random.chance(isRequest ? 0.15 : 0.05);
  const cluster = names ? random.pick([...PULLING, MANAGED]) : undefined;
  const placement = node === undefined && cluster === undefined ? undefined : { node, cluster };
  const waits = isRequest && node !== undefined && random.chance(habits.waitingForFree);
  const drawn = isRequest && random.chance(0.4) ? random.pick(SELECTS) : undefined;
  const select = waits ? FREE : drawn;
  const wishes = isRequest ? random.pick(FORMS) : [drawAmounts(random)];
  const [{ cores, memory } = NOTHING] = wishes;
  const asked = isRequest
    ? { request: wishes.map((one) => [toTree(one)]) }
    : { resources: { cpu: cores, ...(memory > 0 ? { memory } : {}) } };
  return {
    demand: { ...asked, ...(placement && { placement }), ...(select && { select }) },
    ask: { wishes, isRequest, cluster, node, wantsFree: select === FREE },
  };
}

/** Hasty clients have many tasks of these, so that ends free capacity for queued tasks. */
export const ONE_CORE: { readonly demand: Demand; readonly ask: Ask } = {
  demand: { resources: { cpu: 1 } },
  ask: {
    wishes: [wish({ cores: 1 })],
    isRequest: false,
    cluster: undefined,
    node: undefined,
    wantsFree: false,
  },
};

const drawAmounts = (random: Seeded): Wish =>
  wish({
    cores: random.int(1, 4) / 2,
    memory: random.chance(0.3) ? random.int(1, 4) : 0,
  });

/** A cluster's nodes as the client that registered it described them. */
export interface Shape {
  readonly nodes: readonly Pick<Wish, "cores" | "memory" | "gpus">[];
}

/** All intentions of clients, by the names of jobs and of graphs. */
export class Asked {
  readonly jobs = new Map<string, Ask>();
  readonly shapes = new Map<string, Shape>();
}
