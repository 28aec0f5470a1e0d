import type { Cluster, SatisfyResponse } from "../../client/messages.ts";
import { type Handlers, Refusal } from "../../client/testing/serve.ts";

type Init<Message> = Partial<Omit<Message, "$typeName" | "$unknown">>;
type FakeCluster = Init<Omit<Cluster, "state" | "subsystems" | "counters">> & {
  readonly name: string;
  readonly graph: string;
  readonly subsystems: {
    readonly name: string;
    readonly vertices: bigint;
    readonly links: bigint;
  }[];
  readonly documents: Map<string, string>;
  readonly state: { readonly key: string; readonly value: never; readonly setAtMs: bigint }[];
  readonly counters: { readonly key: string; readonly by: string }[];
};

/** All requests, unchanged. */
export interface AskedOfClusters {
  readonly registered: {
    readonly name: string;
    readonly graph: string;
    readonly update: boolean;
  }[];
  readonly state: unknown[];
  readonly satisfy: unknown[];
  readonly credentials: unknown[];
  readonly reports: unknown[];
}

/** Registered clusters that record requests; the words of a task choose its answer. */
export function fakeClusters(): { readonly handlers: Handlers; readonly asked: AskedOfClusters } {
  const clusters = new Map<string, FakeCluster>();
  const asked: AskedOfClusters = {
    registered: [],
    state: [],
    satisfy: [],
    credentials: [],
    reports: [],
  };
  const find = (name: string): FakeCluster => {
    const found = clusters.get(name);
    if (found === undefined) throw new Refusal("NOT_FOUND", `there is no cluster ${name}`);
    return found;
  };
  const handlers: Handlers = {
    listClusters: () => ({ clusters: [MANAGED, ...clusters.values()] }),
    getCluster: ({ name }) => find(name),
    registerCluster: ({ name, graph, update, withCredentials }) => {
      asked.registered.push({ name, graph, update });
      if (clusters.has(name) && !update) throw new Refusal("ALREADY_EXISTS", "there is one");
      const fresh = {
        subsystems: [],
        documents: new Map<string, string>(),
        state: [],
        counters: [],
      };
      const vertices = { node: 3, memory: 64, core: 36 };
      const cluster = { ...fresh, name, graph, kind: "pulling", createdAtMs: 990_000n, vertices };
      const credentials = { secretSinceMs: 990_000n, tokenSinceMs: 990_000n };
      clusters.set(
        name,
        withCredentials ? { ...cluster, credentials: credentials as never } : cluster,
      );
      return withCredentials ? { ...cluster, credentials, issued: ISSUED } : cluster;
    },
    listOfferedTasks: ({ cluster, max }) => {
      find(cluster);
      const spec = { name: "train", command: ["train", "--fast"], resources: { cpu: 2 } };
      const tasks = ["17", "18.3"].map((id) => ({ id, attempt: 1, spec, offeredAtMs: 990_000n }));
      return { tasks: tasks.slice(0, max), total: 2n };
    },
    acceptTasks: ({ ids }) => ({
      accepted: ids.filter((id) => id !== "9"),
      refused: ids
        .filter((id) => id === "9")
        .map((id) => ({ id, reason: "it is running already" })),
    }),
    reportTasks: ({ reports }) => {
      asked.reports.push(...reports);
      return { unwanted: reports.filter(({ id }) => id === "9").map(({ id }) => id) };
    },
    deleteCluster: ({ name }) => {
      find(name);
      clusters.delete(name);
      return {};
    },
    getClusterGraph: ({ name }) => ({ graph: find(name).graph }),
    addSubsystem: ({ cluster, name, graph }) => {
      const found = find(cluster);
      found.documents.set(name, graph);
      found.subsystems.push({ name, vertices: 6n, links: 15n });
      return found;
    },
    removeSubsystem: ({ cluster, name }) => {
      const found = find(cluster);
      if (!found.documents.delete(name)) throw new Refusal("NOT_FOUND", `no subsystem ${name}`);
      found.subsystems.splice(0);
      return {};
    },
    getSubsystem: ({ cluster, name }) => ({ graph: find(cluster).documents.get(name) ?? "{}" }),
    setClusterState: ({ cluster, values, remove, counters }) => {
      const found = find(cluster);
      const plain = Object.entries(values).map(([key, { value }]) => [key, value.value]);
      asked.state.push({ values: Object.fromEntries(plain), remove, counters: counters?.counters });
      found.state.splice(0);
      for (const [key, value] of Object.entries(values)) {
        found.state.push({ key, value: value as never, setAtMs: 940_000n });
      }
      found.counters.splice(0);
      for (const { key, by } of counters?.counters ?? []) found.counters.push({ key, by });
      return found;
    },
    rotateClusterCredentials: ({ cluster, secret, token }) => {
      find(cluster);
      const isBoth = secret === token;
      return {
        issued: {
          secret: isBoth || secret ? ISSUED.secret : undefined,
          token: isBoth || token ? ISSUED.token : undefined,
        },
      };
    },
    setCredentials: ({ registerSecret, clusters: named }) => {
      asked.credentials.push({
        registerSecret,
        clusters: named.map(({ name, secret, token }) => ({ name, secret, token })),
      });
      return {};
    },
    satisfy: ({ ask, selection }) => {
      asked.satisfy.push({
        ask: { case: ask.case, value: ask.value },
        ...(selection === undefined
          ? {}
          : { strategy: selection.strategy, options: selection.options, ...given(selection) }),
      });
      return answerTo(String(ask.value), [...clusters.keys()], selection !== undefined);
    },
  };
  return { handlers, asked };
}

const given = ({
  parameters,
}: {
  readonly parameters: Record<string, { value: { value?: unknown } }>;
}) => ({
  parameters: Object.fromEntries(
    Object.entries(parameters).map(([key, { value }]) => [key, value.value]),
  ),
});

const ISSUED = { secret: "fresh-secret", token: "fresh-token" };

const MANAGED = { name: "default", kind: "managed", nodes: 2, nodesConnected: 1, tasks: 4 };

/** "impossible" fits nowhere; "two" is two tasks, and the second fits on the first cluster. */
function answerTo(text: string, names: readonly string[], isSelected: boolean) {
  const task = (name: string, fits: (at: number) => boolean) => ({
    name,
    clusters: names.map((cluster, at) => ({
      cluster,
      kind: "pulling",
      ever: fits(at),
      now: fits(at),
      slots: fits(at) ? 3n : 0n,
      reasons: fits(at) ? [] : ["there is no gpu", "2 nodes, 9 requested"],
    })),
  });
  const tasks = text.includes("impossible")
    ? [task("task-0", () => false)]
    : text.includes("two")
      ? [task("fit", () => true), task("score", (at) => at === 0)]
      : [task("task-0", () => true)];
  const ever = names.filter((_, at) => tasks.every(({ clusters }) => clusters[at]?.ever === true));
  const dropped = names.slice(1).map((name) => ({ name, reason: "nodes_free > 0: is false" }));
  const selection = {
    strategy: "constraint",
    chosen: ever[0],
    ranked: ever.slice(0, 1),
    dropped,
  };
  return { ever, now: ever, tasks, ...(isSelected ? { selection } : {}) } as Init<SatisfyResponse>;
}
