import { status } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { Busbar } from "../../../gen/busbar/v1/busbar_pb.ts";
import { limits } from "../../../limits.ts";
import { createFakeOperations } from "../testing/fake-operations.ts";
import { call, failure } from "../../grpc/testing/grpc-client.ts";
import { serveNativeDoors } from "../testing/native-doors.ts";
import { aSatisfied } from "../testing/view-builders.ts";

const large = "x".repeat(limits.messageBytesMax + 1);
const selection = {
  strategy: "constraint",
  chosen: "blue",
  ranked: ["blue", "red"],
  dropped: [{ name: "green", reason: "nodes_free > 0: is false" }],
};
const operations = createFakeOperations({
  satisfy: async ({ selection: asked }) =>
    aSatisfied(asked === undefined ? {} : { ever: [large], selection }),
  getSubsystem: async () =>
    JSON.stringify({ graph: { directed: true, nodes: { [large]: aVertex }, edges: [] } }),
});
const aVertex = { label: "x", metadata: { type: "io" } };
const { client, http } = await serveNativeDoors(operations, {
  "grpc.max_receive_message_length": limits.documentBytesMax,
  "grpc.max_send_message_length": -1,
});

const { method } = Busbar;
const last = () => operations.last();

describe("over gRPC", () => {
  test("clusters are registered, shown and deleted", async () => {
    const shown = await call(client, method.registerCluster, {
      name: "blue",
      graph: "{}",
      update: true,
    });
    expect(shown).toMatchObject({
      name: "blue",
      kind: "pulling",
      createdAtMs: 1_700_000_000_000n,
      vertices: { node: 2 },
    });
    expect(last()?.args).toEqual([
      { name: "blue", graph: "{}", isUpdate: true, withCredentials: false },
    ]);
    expect(await call(client, method.getCluster, { name: "blue" })).toEqual(shown);
    const listed = await call(client, method.listClusters);
    expect(listed.clusters.map(({ name, kind }) => [name, kind])).toEqual([
      ["local", "managed"],
      ["blue", "pulling"],
    ]);
    const { graph } = await call(client, method.getClusterGraph, { name: "blue" });
    expect(JSON.parse(graph)).toMatchObject({ graph: { nodes: { blue: { label: "blue" } } } });
    await call(client, method.deleteCluster, { name: "blue" });
    expect(last()).toEqual({ name: "deleteCluster", args: ["blue", {}] });
    const error = await failure(call(client, method.getCluster, { name: "blue" }));
    expect(error.code).toBe(status.NOT_FOUND);
  });

  test("new credentials are in the answer that issues them; clients can set others", async () => {
    const request = { name: "green", graph: "{}", withCredentials: true };
    const { issued } = await call(client, method.registerCluster, request);
    expect(last()?.args).toMatchObject([{ name: "green", withCredentials: true }]);
    expect(issued).toMatchObject({ secret: "fresh-secret", token: "fresh-token" });
    expect((await call(client, method.getCluster, { name: "green" })).issued).toBeUndefined();
    const rotate = async (which: object) => {
      const request = { cluster: "green", ...which };
      const { issued: told } = await call(client, method.rotateClusterCredentials, request);
      expect(last()?.args[0]).toBe("green");
      return [told?.secret, told?.token, last()?.args[1]];
    };
    const both = { secret: true, token: true };
    expect(await rotate({})).toEqual(["fresh-secret", "fresh-token", both]);
    expect(await rotate(both)).toEqual(["fresh-secret", "fresh-token", both]);
    expect(await rotate({ token: true })).toEqual([
      undefined,
      "fresh-token",
      { secret: false, token: true },
    ]);
    const clusters = [
      { name: "green", secret: "s" },
      { name: "local", token: "" },
    ];
    await call(client, method.setCredentials, { registerSecret: "r", clusters });
    expect(last()).toEqual({
      name: "setCredentials",
      args: [{ registerSecret: "r", clusters }],
    });
    await call(client, method.deleteCluster, { name: "green" });
  });

  test("subsystems are added, shown and removed", async () => {
    const named = { cluster: "local", name: "io" };
    const view = await call(client, method.addSubsystem, { ...named, graph: "[1]" });
    expect(view.subsystems).toMatchObject([{ name: "io", vertices: 1n, links: 1n }]);
    expect(last()?.args).toEqual([{ ...named, document: "[1]" }]);
    const { graph } = await call(client, method.getSubsystem, named);
    expect(graph.length).toBeGreaterThan(limits.messageBytesMax);
    await call(client, method.removeSubsystem, named);
    expect(last()).toEqual({ name: "removeSubsystem", args: [named] });
  });

  test("state has numbers, texts, true and false", async () => {
    const view = await call(client, method.setClusterState, {
      cluster: "local",
      values: {
        free: { value: { case: "number", value: 0 } },
        zone: { value: { case: "text", value: "" } },
        spot: { value: { case: "flag", value: false } },
      },
      remove: ["old"],
      counters: { counters: [{ key: "free", by: "nodes" }] },
    });
    expect(last()?.args[0]).toEqual({
      cluster: "local",
      values: { free: 0, zone: "", spot: false },
      remove: ["old"],
      counters: [{ key: "free", by: "nodes" }],
    });
    expect(view.state).toMatchObject([
      { key: "nodes_free", value: { value: { case: "number", value: 20 } }, setAtMs: 5n },
    ]);
    expect(view.counters).toMatchObject([{ key: "nodes_free", by: "nodes" }]);
    await call(client, method.setClusterState, { cluster: "local", remove: ["old"] });
    expect(last()?.args[0]).toMatchObject({ values: {}, counters: undefined });
    const none = await failure(
      call(client, method.setClusterState, { cluster: "local", values: { a: {} } }),
    );
    expect([none.code, none.details]).toEqual([
      status.INVALID_ARGUMENT,
      "values.a: needs a number, a text or a flag",
    ]);
  });

  test("offered tasks are listed, accepted and reported", async () => {
    const offered = await call(client, method.listOfferedTasks, { cluster: "local" });
    expect(last()?.args).toEqual(["local", undefined]);
    expect(offered).toMatchObject({
      tasks: [{ id: "17", attempt: 1, spec: { name: "sleep" }, offeredAtMs: 5n }],
      total: 1n,
    });
    await call(client, method.listOfferedTasks, { cluster: "local", max: 7 });
    expect(last()?.args).toEqual(["local", 7]);
    const ids = ["17", "18.3"];
    expect(await call(client, method.acceptTasks, { cluster: "local", ids })).toMatchObject({
      accepted: ["17"],
      refused: [{ id: "18.3", reason: "it is accepted already" }],
    });
    const reports = [
      { id: "17", attempt: 2, state: "running", startedAtMs: 5n },
      { id: "18.3", state: "failed", exitCode: 3, endedAtMs: 9n, stdout: "a", timeLimit: true },
    ];
    const told = await call(client, method.reportTasks, { cluster: "local", reports });
    expect(told).toMatchObject({ unwanted: ["17"] });
    expect(last()?.args).toMatchObject([
      "local",
      [
        { id: "17", attempt: 2, state: "running", startedAtMs: 5, endedAtMs: undefined },
        { id: "18.3", attempt: undefined, exitCode: 3, endedAtMs: 9, timeLimit: true },
      ],
    ]);
  });

  test("satisfy accepts a jobspec or a request, and a selection", async () => {
    const plain = await call(client, method.satisfy, { ask: { case: "jobspec", value: "text" } });
    expect(last()?.args).toEqual([
      { ask: { kind: "jobspec", jobspec: "text" }, selection: undefined },
    ]);
    expect(plain).toMatchObject({
      ever: ["blue"],
      now: ["blue"],
      tasks: [{ name: "task-0", clusters: [{ cluster: "blue", ever: true, slots: 3n }] }],
    });
    expect(plain.selection).toBeUndefined();
    const chosen = await call(client, method.satisfy, {
      ask: { case: "request", value: "[[]]" },
      selection: {
        strategy: "constraint",
        options: '{"a": 1}',
        parameters: { n: { value: { case: "number", value: 4 } } },
      },
    });
    expect(last()?.args).toEqual([
      {
        ask: { kind: "request", request: [[]] },
        selection: { strategy: "constraint", options: { a: 1 }, parameters: { n: 4 } },
      },
    ]);
    expect(chosen.selection).toMatchObject(selection);
    expect(chosen.ever[0]?.length).toBeGreaterThan(limits.messageBytesMax);
    const wrong: readonly [
      Parameters<typeof call<typeof method.satisfy.input, never>>[2],
      string,
    ][] = [
      [{}, "ask: needs a jobspec or a request"],
      [{ ask: { case: "request", value: "[" } }, "request: is not JSON"],
      [
        { ask: { case: "jobspec", value: "" }, selection: { options: "x" } },
        "selection.options: is not JSON",
      ],
    ];
    for (const [request, message] of wrong) {
      const error = await failure(call(client, method.satisfy, request));
      expect([error.code, error.details]).toEqual([
        status.INVALID_ARGUMENT,
        expect.stringContaining(message),
      ]);
    }
  });

  test("graphs may be large, all other requests may not", async () => {
    await call(client, method.registerCluster, { name: "wide", graph: large });
    expect(last()?.args[0]).toMatchObject({ graph: large });
    await call(client, method.addSubsystem, { cluster: "wide", name: "io", graph: large });
    const others = [
      call(client, method.getCluster, { name: large }),
      call(client, method.setClusterState, { cluster: large }),
      call(client, method.satisfy, { ask: { case: "jobspec", value: large } }),
      call(client, method.submitJobs, { jobs: [{ idempotencyKey: large }] }),
    ];
    for (const other of others) {
      const error = await failure(other);
      expect([error.code, error.details]).toEqual([
        status.RESOURCE_EXHAUSTED,
        expect.stringContaining(`max: ${limits.messageBytesMax}`),
      ]);
    }
    const graph = "x".repeat(limits.documentBytesMax);
    const error = await failure(call(client, method.registerCluster, { name: "x", graph }));
    expect([error.code, error.details]).toEqual([
      status.RESOURCE_EXHAUSTED,
      expect.stringContaining(`max: ${limits.documentBytesMax}`),
    ]);
  });
});

describe("over REST", () => {
  const graph = { graph: { nodes: { "0": {} } } };

  test("offered tasks are listed, accepted and reported", async () => {
    const path = "/v1/clusters/local";
    expect((await http.get(`${path}/offered?max=3`)).json).toMatchObject({
      tasks: [{ id: "17", attempt: 1, spec: { name: "sleep" }, offeredAtMs: 5 }],
      total: 1,
    });
    expect(last()?.args).toEqual(["local", 3]);
    const taken = await http.send("POST", `${path}/accept`, { ids: ["17", "18"] });
    expect(taken.json).toMatchObject({ accepted: ["17"], refused: [{ id: "18" }] });
    const reports = [{ id: "17", state: "failed", exitCode: 3, stderr: "no" }];
    expect((await http.send("POST", `${path}/reports`, { reports })).json).toMatchObject({
      unwanted: [],
    });
    expect(last()?.args).toEqual(["local", reports]);
    const odd = { reports: [{ id: "17", state: "gone" }] };
    expect(await http.send("POST", `${path}/reports`, odd)).toMatchObject({ status: 400 });
  });

  test("clusters are registered, shown and deleted", async () => {
    const made = await http.send("POST", "/v1/clusters", { name: "blue", graph });
    expect([made.status, made.headers.get("location")]).toEqual([201, "/v1/clusters/blue"]);
    expect(made.json).toMatchObject({ name: "blue", kind: "pulling", vertices: { node: 2 } });
    expect(last()?.args).toEqual([
      { name: "blue", graph, isUpdate: false, withCredentials: false },
    ]);
    const again = { name: "blue", graph: graph.graph, update: true };
    expect((await http.send("POST", "/v1/clusters", again)).status).toBe(200);
    expect(last()?.args).toEqual([{ name: "blue", graph, isUpdate: true, withCredentials: false }]);
    expect((await http.get("/v1/clusters/blue")).json).toMatchObject({ name: "blue" });
    expect((await http.get("/v1/clusters")).json).toMatchObject({
      clusters: expect.arrayContaining([expect.objectContaining({ name: "blue" })]) as unknown,
    });
    expect((await http.get("/v1/clusters/blue/graph")).json).toMatchObject({
      graph: { directed: true, nodes: { blue: {} } },
    });
    expect((await http.send("DELETE", "/v1/clusters/blue")).status).toBe(200);
    expect((await http.get("/v1/clusters/blue")).error?.code).toBe("not_found");
  });

  test("subsystems are put, shown and deleted, under any name", async () => {
    const path = "/v1/clusters/local/subsystems/os%2F%20gr%C3%B6%C3%9Fe";
    const named = { cluster: "local", name: "os/ größe" };
    const put = await http.send("PUT", path, graph);
    expect(put.json).toMatchObject({ subsystems: [{ name: named.name }] });
    expect(last()?.args).toEqual([{ ...named, document: graph }]);
    expect((await http.get(path)).json).toMatchObject({ graph: { directed: true } });
    expect(last()).toEqual({ name: "getSubsystem", args: [named] });
    expect((await http.send("DELETE", path)).status).toBe(200);
    expect(last()).toEqual({ name: "removeSubsystem", args: [named] });
  });

  test("new credentials are in the answer that issues them, which no cache stores; clients can set others", async () => {
    const body = { name: "green", graph, withCredentials: true };
    const issued = { secret: "fresh-secret", token: "fresh-token" };
    const made = await http.send("POST", "/v1/clusters", body);
    expect([made.status, made.headers.get("cache-control")]).toEqual([201, "no-store"]);
    expect(made.json).toMatchObject({ issued });
    expect((await http.get("/v1/clusters/green")).json).not.toHaveProperty("issued");
    const path = "/v1/clusters/green/credentials/rotate";
    const rotated = await http.send("POST", path, {});
    expect(rotated.headers.get("cache-control")).toBe("no-store");
    expect(rotated.json).toMatchObject({ issued });
    expect((await http.send("POST", path, { secret: true })).json).toMatchObject({
      issued: { secret: "fresh-secret" },
    });
    expect(last()?.args).toEqual(["green", { secret: true, token: false }]);
    const set = { registerSecret: "r", clusters: [{ name: "green", token: "t" }] };
    expect((await http.send("PUT", "/v1/credentials", set)).status).toBe(200);
    expect(last()).toEqual({ name: "setCredentials", args: [set] });
    expect((await http.send("DELETE", "/v1/clusters/green")).status).toBe(200);
  });

  test("state is patched, counters are put", async () => {
    const values = { free: 20, zone: "north", spot: true, old: null };
    const told = await http.send("PATCH", "/v1/clusters/local/state", values);
    expect(last()?.args).toEqual([{ cluster: "local", values }]);
    expect(told.json).toMatchObject({ state: [{ key: "nodes_free", value: 20, setAtMs: 5 }] });
    const counters = [{ key: "free", by: "nodes" }];
    await http.send("PUT", "/v1/clusters/local/counters", { counters });
    expect(last()?.args).toEqual([{ cluster: "local", values: {}, counters }]);
  });

  test("satisfy returns the answer of Operations", async () => {
    const plain = await http.send("POST", "/v1/satisfy", { jobspec: "text" });
    expect(plain.json).toEqual(JSON.parse(JSON.stringify(aSatisfied())));
    expect(last()?.args).toEqual([{ ask: { kind: "jobspec", jobspec: "text" } }]);
    const asked = { strategy: "constraint", options: { priorities: [] }, parameters: { n: 1 } };
    const chosen = await http.send("POST", "/v1/satisfy", { request: [[]], selection: asked });
    expect(chosen.json).toMatchObject({ selection });
    expect(last()?.args).toEqual([{ ask: { kind: "request", request: [[]] }, selection: asked }]);
  });

  const wrong: readonly [string, string, unknown, RegExp][] = [
    ["POST", "/v1/clusters", { graph }, /^name: is missing/],
    ["POST", "/v1/clusters", { name: "a", graph: "{}" }, /^graph: must be an object/],
    ["POST", "/v1/clusters", { name: "a", grahp: {} }, /^grahp: is not known|^graph: is missing/],
    ["PUT", "/v1/clusters/a/subsystems/b", [], /must be an object/],
    ["PATCH", "/v1/clusters/a/state", { k: [1] }, /^k: must be a number or a text or true or f/],
    ["PUT", "/v1/clusters/a/counters", { counters: [{ key: "a", by: "cores" }] }, /by/],
    ["POST", "/v1/satisfy", {}, /^jobspec: give either a jobspec or a request/],
    ["POST", "/v1/satisfy", { jobspec: "a", request: [] }, /^jobspec: give either/],
    ["POST", "/v1/satisfy", { jobspec: 1 }, /^jobspec: must be a text/],
    ["POST", "/v1/satisfy", { jobspec: "a", selection: { stratgy: "a" } }, /strategy/],
  ];
  for (const [verb, path, body, message] of wrong) {
    test(`${verb} ${path} rejects ${JSON.stringify(body)}`, async () => {
      const { status: code, error } = await http.send(verb, path, body);
      expect([code, error?.code]).toEqual([400, "invalid_argument"]);
      expect(error?.message).toMatch(message);
    });
  }

  test("graphs may be large, all other bodies may not", async () => {
    const wide = { graph: { nodes: { [large]: {} } } };
    expect((await http.send("POST", "/v1/clusters", { name: "wide", graph: wide })).status).toBe(
      201,
    );
    const path = "/v1/clusters/wide";
    expect((await http.send("PUT", `${path}/subsystems/io`, wide)).status).toBe(200);
    const state = await http.send("PATCH", `${path}/state`, { large });
    expect([state.status, state.error?.message]).toEqual([
      413,
      `the body has more than ${limits.messageBytesMax} bytes; send less at once`,
    ]);
    const huge = JSON.stringify({
      name: "x",
      graph: { huge: "x".repeat(limits.documentBytesMax) },
    });
    const refused = await http.send("POST", "/v1/clusters", huge);
    expect([refused.status, refused.error?.message]).toEqual([
      413,
      `the body has more than ${limits.documentBytesMax} bytes; send less at once`,
    ]);
  });
});
