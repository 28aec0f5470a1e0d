import { beforeAll, expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { rikPrograms, RikSite, STATUS } from "./support/rik.ts";

// Workloads as REST users of rik see them, with real processes: docs/coming-from/rik.md. `src/api/rik/rest` tests the shapes of each route.

beforeAll(async () => void (await rikPrograms()), 300_000);

// Tests wait most of the time: each has its own server, and they run in parallel.
const withSite =
  (body: (site: RikSite) => Promise<void>): (() => Promise<void>) =>
  async () => {
    const site = new RikSite();
    try {
      await site.startRik();
      await body(site);
    } finally {
      await site.close();
    }
  };

const TOTAL = 100;
const PATIENCE_MS = 90_000;

/** Like curl. */
async function call<T = unknown>(site: RikSite, route: string, body?: object): Promise<T> {
  const url = `http://${site.rest}/api/v0/${route}`;
  const post = { method: "POST", body: JSON.stringify(body) };
  const answer = await fetch(url, body === undefined ? {} : post);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${route}: ${answer.status} ${text}`);
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

interface Shown {
  readonly id: string;
  readonly value: {
    readonly status: string;
    readonly node?: string;
    readonly spec: { readonly containers: readonly { readonly image: string }[] };
  };
}

const pod = (image: string): object => ({
  apiVersion: "v1",
  kind: "Pod",
  name: "web",
  spec: { containers: [{ name: "main", image, resources: { requests: { cpu: "50m" } } }] },
});

/** The number of running instances on each node, and their images. */
async function census(
  site: RikSite,
): Promise<{ running: number; nodes: Map<string, number>; images: string }> {
  const list = await call<Shown[]>(site, "instances.list");
  const running = list.filter(({ value }) => value.status === "Running");
  const nodes = new Map<string, number>();
  for (const { value } of running) {
    nodes.set(value.node ?? "", (nodes.get(value.node ?? "") ?? 0) + 1);
  }
  const images = new Set(running.map(({ value }) => value.spec.containers[0]?.image ?? ""));
  return { running: running.length, nodes, images: [...images].join() };
}

interface Status {
  readonly state: string;
  readonly reason?: string;
  readonly updated: number;
  readonly running: number;
}

test.concurrent(
  "100 instances over REST are spread, survive kill -9 of a worker, are rolled out, undone and deleted",
  withSite(async (site) => {
    const rest = <T = unknown>(route: string, body?: object) => call<T>(site, route, body);
    async function untilAll(
      what: string,
      isIt: (now: Awaited<ReturnType<typeof census>>) => boolean,
    ) {
      let last = "";
      await eventually(
        async () => {
          const now = await census(site);
          last = `${now.running} ${JSON.stringify([...now.nodes])} ${now.images}`;
          return now.running === TOTAL && isIt(now);
        },
        { what: () => `${what}, not ${last}`, timeoutMs: PATIENCE_MS },
      );
    }

    const big = await site.worker("big", "-cpus", "6", "-bad", "broken:1");
    const small = await site.worker("small", "-cpus", "2", "-bad", "broken:1");
    await site.nodesAre(2);
    const { revision } = await site.client.listServices({});
    const flags = ["--tasks", "--services", "--after", String(revision), "--output", "json"];
    const watcher = site.start(["watch", ...flags, "--server", site.server]);
    await rest("tenants.create", { id: "t", name: "/tenant/acme", value: "{}" });
    const { id } = await rest<{ id: string }>("workloads.create", pod("alpine:1"));
    const names = await rest<string[]>("instances.create", { workload_id: id, replicas: TOTAL });
    expect(new Set(names).size).toBe(TOTAL);

    await untilAll("all to run on both", ({ nodes }) => nodes.size === 2);
    const { nodes } = await census(site);
    const [onBig = 0, onSmall = 0] = [nodes.get("rik-big"), nodes.get("rik-small")];
    // By capacity: 50 thousandths of a processor each, so that 40 fit on the small one.
    expect(onSmall).toBeLessThanOrEqual(40);
    expect(onBig).toBeGreaterThan(onSmall);
    expect(onSmall).toBeGreaterThan(10);

    await small.running.end("SIGKILL");
    await untilAll("all to run on one", (now) => now.nodes.get("rik-big") === TOTAL);
    await watcher.prints(/(rik-small was lost)/);

    // A rollout that fails stops at once, and is undone.
    const update = { id, max_unavailable: 25, min_ready_ms: 0 };
    await rest("workloads.update", { ...update, max_unavailable: 1, value: pod("broken:1") });
    const status = () => rest<Status>(`workloads.status/${id}`);
    const stateIs = (state: string) =>
      eventually(async () => (await status()).state === state, {
        what: `the rollout to be ${state}`,
        timeoutMs: PATIENCE_MS,
      });
    await stateIs("stopped");
    expect(await status()).toMatchObject({ updated: 1, running: TOTAL - 1 });
    expect((await status()).reason).toMatch(/ of generation 2 failed: /);
    await watcher.prints(
      /("state":"stopped"[^\n]*see the log of the worker|see the log of the worker[^\n]*"state":"stopped")/,
    );
    await rest("workloads.rollback", { id });
    await stateIs("done");
    await untilAll("all to run as before", ({ images }) => images === "alpine:1");

    await rest("workloads.update", { ...update, value: pod("alpine:2") });
    await stateIs("done");
    await untilAll("all to run anew", ({ images }) => images === "alpine:2");
    const listed = (await site.run("services")).stdout;
    expect(listed).toMatch(/^web-[0-9a-f]{8} +0\+100 +100 +3 +done/m);

    await rest("workloads.delete", { id });
    expect(await rest<Shown[]>("workloads.list")).toEqual([]);
    await eventually(async () => (await rest<Shown[]>("instances.list")).length === 0, {
      what: "all to end",
      timeoutMs: PATIENCE_MS,
    });
    await eventually(async () => (await site.client.listServices({})).services.length === 0, {
      what: "the service to go",
      timeoutMs: PATIENCE_MS,
    });
    const destroyed = new Set(big.of("order", { action: 1 }).map((order) => order.id));
    expect(names.every((name) => destroyed.has(name))).toBe(true);
  }),
  300_000,
);

test.concurrent(
  "A11: a Function is sent with its own port, one for each instance",
  withSite(async (site) => {
    const rest = <T = unknown>(route: string, body?: object) => call<T>(site, route, body);
    const worker = await site.worker("functions");
    const definition = {
      apiVersion: "v1",
      kind: "Function",
      name: "hello",
      spec: { function: { execution: { rootfs: "http://127.0.0.1/rootfs.ext4" } } },
    };
    const { id } = await rest<{ id: string }>("workloads.create", definition);
    await rest("instances.create", { workload_id: id, replicas: 2 });
    await worker.until("order", { action: 0 }, 2);
    const exposures = worker.of("order", { action: 0 }).map((order) => {
      const { spec } = JSON.parse(order.definition ?? "") as {
        spec: { containers: unknown; function: { exposure: { port: number } } };
      };
      expect(spec).toMatchObject({
        containers: [],
        function: { exposure: { targetPort: 8080, type: "NodePort" } },
      });
      return spec.function.exposure.port;
    });
    expect(new Set(exposures).size).toBe(2);
    for (const port of exposures) expect(port >= 45_000 && port < 50_000).toBe(true);
    await rest("workloads.delete", { id });
    await worker.until("order", { action: 1 }, 2);
  }),
  200_000,
);

test.concurrent(
  "A10: pings detect a frozen worker, and its instances are placed again",
  withSite(async (site) => {
    const frozen = await site.worker("frozen");
    const controller = await site.controller();
    await controller.create("a10");
    await controller.told("a10", STATUS.running);
    frozen.running.child.kill("SIGSTOP");
    const other = await site.worker("awake");
    const order = { id: "a10", action: 0 };
    await eventually(() => other.of("order", order).length === 1, {
      what: "it to be placed again",
      timeoutMs: PATIENCE_MS,
    });
    await controller.until("worker", { id: "frozen", status: STATUS.terminated });
    await controller.told("a10", STATUS.running);
    await controller.destroy("a10");
    await controller.told("a10", STATUS.terminated);
  }),
  200_000,
);
