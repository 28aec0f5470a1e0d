import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Client, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { aPlane, type TestPlane } from "../../testing/plane.ts";
import { documentOf, times } from "../../core/graph/testing/documents.ts";
import { MemoryGraph } from "../../gen/rainbow/v1/memory_pb.ts";
import { RainbowScheduler } from "../../gen/rainbow/v1/rainbow_pb.ts";
import { limits } from "../../limits.ts";
import { createGrpcServer, type GrpcServer } from "../grpc/server.ts";
import {
  call,
  callRaw,
  collect,
  connect,
  failure,
  openBidi,
  pathOf,
} from "../grpc/testing/grpc-client.ts";
import { silentLogger } from "../../testing/silent-logger.ts";
import { rainbowServices } from "./service.ts";
import { bytesOf, type Field, readAs, SENT } from "./testing/wire.ts";

const REGISTER_SECRET = "chocolate-cookies";

let plane: TestPlane;
/** What clusters were given when they were registered. */
const issued = new Map<string, { readonly secret: string; readonly token: string }>();
const secretOf = (cluster: string): string => issued.get(cluster)?.secret ?? "no secret";
const tokenOf = (cluster: string): string => issued.get(cluster)?.token ?? "no token";
let server: GrpcServer;
let client: Client;
beforeEach(async () => {
  ({ plane } = await aPlane());
  const { operations, authenticator } = plane;
  issued.clear();
  await operations.setCredentials({ registerSecret: REGISTER_SECRET });
  server = await createGrpcServer({
    address: "127.0.0.1:0",
    services: rainbowServices({ operations, authenticator, logger: silentLogger, fraction: 0 }),
    logger: silentLogger,
  });
  client = connect(server.address);
});
afterEach(async () => {
  client.close();
  await server.close();
  await plane.close();
});

const scheduler = RainbowScheduler.method;
const graphOf = (nodes: number, cores = 4): string =>
  JSON.stringify(
    documentOf({
      type: "cluster",
      inside: [
        {
          type: "rack",
          inside: times(nodes, { type: "node", inside: times(cores, { type: "core" }) }),
        },
      ],
    }),
  );
async function register(name: string, nodes = graphOf(2), own = REGISTER_SECRET, subsystem = "") {
  const request = { name, secret: own, nodes, subsystem };
  const { status: said, secret, token } = await call(client, scheduler.register, request);
  if (said === 1) issued.set(name, { secret, token });
  return { status: said, secret, token };
}
/** As clients of the first generation do it. */
async function registerAlone(name: string): Promise<Record<string, unknown>> {
  const request = bytesOf([1, name], [2, REGISTER_SECRET], [3, SENT]);
  const bytes = await callRaw(client, pathOf(scheduler.register), request);
  const { secret, token } = readAs({ 2: ["token", "text"], 3: ["secret", "text"] }, bytes);
  issued.set(name, { secret: String(secret), token: String(token) });
  return readAs({ 2: ["token", "text"], 3: ["status", "varint"] }, bytes);
}
const simple = (nodes: number, tasks: number, command = ["hostname"]): string =>
  JSON.stringify({
    version: 1,
    resources: {
      it: {
        type: "rack",
        replicas: 1,
        with: [{ type: "node", count: nodes, with: [{ type: "core", count: tasks }] }],
      },
    },
    tasks: [{ command, resources: "it" }],
  });
const submit = (jobspec: string, clusters: readonly string[], more: object = {}) =>
  call(client, scheduler.submitJob, {
    name: "app",
    jobspec,
    clusters: clusters.map((name) => ({ name, token: tokenOf(name) })),
    selectAlgorithm: "random",
    ...more,
  });
const receive = (cluster: string, maxJobs = 0) =>
  call(client, scheduler.receiveJobs, { cluster, secret: secretOf(cluster), maxJobs });
const accept = async (cluster: string, jobids: number[]) =>
  (await call(client, scheduler.acceptJobs, { cluster, secret: secretOf(cluster), jobids })).status;
/** What a refused call says; it must be UNKNOWN, as everything that server refuses. */
async function refusal(answer: Promise<unknown>): Promise<string> {
  const error = await failure(answer);
  expect(error.code).toBe(status.UNKNOWN);
  return error.details;
}

describe("a cluster", () => {
  const UUID: unknown = expect.stringMatching(/^[0-9a-f-]{36}$/);

  test("is registered once, with credentials of its own", async () => {
    expect(await register("keebler")).toEqual({ status: 1, token: UUID, secret: UUID });
    expect(tokenOf("keebler")).not.toBe(secretOf("keebler"));
    expect(await register("keebler")).toEqual({ status: 4, token: "", secret: "" });
  });

  test("by name alone takes what names it", async () => {
    expect(await registerAlone("old")).toMatchObject({ token: UUID, status: 1 });
    expect((await plane.operations.getCluster("old")).vertices).toEqual({ cluster: 1 });
  });

  const edge = (source: string, target: string, more: object = {}) => ({
    source,
    target,
    relation: "contains",
    ...more,
  });
  const withEdge = (...edges: object[]): string =>
    JSON.stringify({ graph: { nodes: { "0": { metadata: { type: "cluster" } } }, edges } });
  const refusals: readonly [string, () => Promise<unknown>, string | RegExp][] = [
    ["an empty request", () => register("", "", ""), "request denied"],
    ["a wrong secret", () => register("k", graphOf(1), "wrong"), "request denied"],
    [
      "no nodes",
      () =>
        callRaw(
          client,
          pathOf(scheduler.register),
          bytesOf([1, "k"], [2, REGISTER_SECRET], [5, SENT]),
        ),
      "cluster nodes are required",
    ],
    [
      "nodes that are no JSON",
      () => register("k", "nodes"),
      /^cluster nodes are invalid: error unmarshalling json graph: /,
    ],
    [
      "no graph",
      () => register("k", "{}"),
      "subsystem cluster must have at least one edge and node",
    ],
    [
      "no edges",
      () => register("k", withEdge()),
      "subsystem cluster must have at least one edge and node",
    ],
    [
      "a target that is not there",
      () => register("k", withEdge(edge("0", "1", { label: "x" }))),
      "destination x is defined as an edge, but missing as node in graph",
    ],
    [
      "a source that is not there",
      () => register("k", withEdge(edge("9", "0"))),
      "source 9 is defined as an edge, but missing as node in graph",
    ],
    [
      "another subsystem",
      () => register("k", graphOf(1), REGISTER_SECRET, "foo"),
      "subsystem foo does not exist. Ensure it is created first",
    ],
    [
      "a graph that contains itself",
      () => register("k", withEdge(edge("0", "0"))),
      /cannot contain itself/,
    ],
    ["a name that is none", () => register("a b"), /is not a name/],
  ];
  for (const [name, attempt, text] of refusals) {
    test(`with ${name} is refused, and nothing stays of it`, async () => {
      const said = await refusal(attempt());
      if (typeof text === "string") expect(said).toBe(text);
      else expect(said).toMatch(text);
      expect((await plane.operations.listClusters()).clusters).toEqual([]);
      expect((await register("k")).status).toBe(1);
    });
  }

  test("is deleted by who has its secret", async () => {
    await register("keebler");
    const remove = (name: string, secret: string) =>
      call(client, scheduler.delete, { name, secret });
    expect(await refusal(remove("keebler", ""))).toBe("cluster name and secret are required");
    expect(await refusal(remove("keebler", "no"))).toBe("request denied");
    expect(await refusal(remove("nobody", "no"))).toBe("request denied");
    await submit(simple(1, 1), ["keebler"]);
    expect((await remove("keebler", secretOf("keebler"))).status).toBe(0);
    expect(await plane.operations.getJob("1")).toMatchObject({
      state: "cancelled",
      reason: expect.stringContaining("cluster keebler was deleted"),
    });
    expect((await plane.operations.listClusters()).clusters).toEqual([]);
  });
});

describe("a subsystem", () => {
  const io = JSON.stringify({
    graph: {
      nodes: { io0: { metadata: { type: "io" } }, io1: { metadata: { type: "shm" } } },
      edges: [
        { source: "io0", target: "io1", relation: "contains" },
        { source: "0", target: "io1", relation: "contains" },
      ],
    },
  });
  const add = (more: object = {}) =>
    call(client, scheduler.registerSubsystem, {
      name: "keebler",
      secret: secretOf("keebler"),
      nodes: io,
      subsystem: "io",
      ...more,
    });
  const remove = (subsytem: string, secret = secretOf("keebler")) =>
    call(client, scheduler.deleteSubsystem, { name: "keebler", secret, subsytem });
  beforeEach(() => register("keebler"));

  test("is added once and removed", async () => {
    expect(await add()).toMatchObject({ status: 1, token: "", secret: "" });
    expect(await refusal(add())).toBe("subsystem io already exists for cluster keebler");
    expect((await plane.operations.getCluster("keebler")).subsystems[0]?.name).toBe("io");
    expect((await remove("io")).status).toBe(0);
    expect(await refusal(remove("io"))).toBe("cluster graph keebler does not have subsystem io");
    expect((await add()).status).toBe(1);
  });

  test("is refused in that server's words", async () => {
    const incomplete = "subsystem nodes, name, cluster name and secret are required";
    for (const field of ["name", "secret", "nodes", "subsystem"]) {
      expect(await refusal(add({ [field]: "" }))).toBe(incomplete);
    }
    expect(await refusal(add({ secret: "no" }))).toBe("request denied");
    expect(await refusal(add({ name: "nobody" }))).toBe("request denied");
    expect(await refusal(add({ nodes: "x" }))).toMatch(/^cluster nodes are invalid: /);
    expect(await refusal(add({ nodes: "{}" }))).toMatch(/at least one edge and node$/);
    expect(await refusal(add({ subsystem: "cluster" }))).toBe(
      "subsystem cluster already exists for cluster keebler",
    );
    const stray = JSON.stringify({
      graph: {
        nodes: { p1: { metadata: { type: "p" } } },
        edges: [{ source: "999", target: "p1", relation: "contains" }],
      },
    });
    expect(await refusal(add({ nodes: stray }))).toMatch(/999/);
    expect((await add()).status).toBe(1);
    expect(await refusal(remove("io", ""))).toBe("cluster name and secret are required");
    expect(await refusal(remove("io", "no"))).toBe("request denied");
    expect(await refusal(remove("cluster"))).toMatch(/delete the cluster instead/);
  });
});

describe("a state", () => {
  const update = (payload: string, secret = secretOf("keebler")) =>
    call(client, scheduler.updateState, { cluster: "keebler", secret, payload });
  const stateOf = async () =>
    Object.fromEntries(
      (await plane.operations.getCluster("keebler")).state.map(({ key, value }) => [key, value]),
    );
  beforeEach(() => register("keebler"));

  test("is laid over what is known, whether it is encoded once or twice", async () => {
    expect((await update('{"nodes_free": 3, "zone": "a"}')).status).toBe(2);
    expect((await update(JSON.stringify('{"nodes_free": 4}\n'))).status).toBe(2);
    expect((await update("null")).status).toBe(2);
    expect((await update("{}")).status).toBe(2);
    expect((await update('{"list": [1, {"a": 2}]}')).status).toBe(2);
    expect(await stateOf()).toEqual({ nodes_free: 4, zone: "a", list: '[1,{"a":2}]' });
  });

  test("is refused in that server's words", async () => {
    const incomplete = "cluster, name, secret, and state file payload are required";
    expect(await refusal(update(""))).toBe(incomplete);
    expect(await refusal(update("{}", ""))).toBe(incomplete);
    expect(await refusal(update("{}", "no"))).toBe("request denied");
    const kinds = [
      ["[]", "array"],
      ["1", "number"],
      ["true", "bool"],
      ['"x"', "string"],
    ] as const;
    for (const [payload, kind] of kinds) {
      expect(await refusal(update(payload))).toBe(
        `json: cannot unmarshal ${kind} into Go value of type types.ClusterState`,
      );
    }
    expect(await refusal(update("{"))).toMatch(/types.ClusterState$/);
    expect(await stateOf()).toEqual({});
  });
});

describe("satisfy", () => {
  const ask = async (payload: string, matcher = "", headers: Record<string, string> = {}) => {
    const method = MemoryGraph.method.satisfy;
    const metadata = new Metadata();
    for (const [key, value] of Object.entries(headers)) metadata.set(key, value);
    const request = toBinary(method.input, create(method.input, { payload, matcher }));
    const bytes = await new Promise<Buffer>((resolve, reject) => {
      client.makeUnaryRequest<Buffer, Buffer>(
        pathOf(method),
        (same) => same,
        (same) => same,
        Buffer.from(request),
        metadata,
        (error: ServiceError | null, answer) => (error ? reject(error) : resolve(answer as Buffer)),
      );
    });
    const { $typeName: _, ...answer } = fromBinary(method.output, bytes);
    return answer;
  };
  const answer = (clusters: string[], total: number) => ({
    clusters,
    status: 1,
    totalClusters: total,
    totalMatches: clusters.length,
    totalMismatches: total - clusters.length,
  });
  beforeEach(async () => {
    await register("small", graphOf(2));
    await register("large", graphOf(8));
  });

  test("tells who could ever run it, each slot counted, and of how many", async () => {
    for (const matcher of ["", "match", "range", "equals"]) {
      expect(await ask(simple(2, 4), matcher)).toEqual(answer(["large", "small"], 2));
    }
    expect(await ask(simple(8, 4))).toEqual(answer(["large"], 2));
    expect(await ask(simple(1, 5))).toEqual(answer([], 2));
  });

  test("every cluster will do for who asks for nothing", async () => {
    const nothing = JSON.stringify({ version: 1, tasks: [{ command: ["true"], local: true }] });
    expect(await ask(nothing)).toEqual(answer(["large", "small"], 2));
  });

  test("shows only what a credential is good for", async () => {
    const bearer = (text: string, clusters = "") => ({
      authorization: `Bearer ${text}`,
      ...(clusters !== "" && { "busbar-clusters": clusters }),
    });
    expect(await ask(simple(1, 1), "", bearer(tokenOf("small")))).toEqual(answer(["small"], 1));
    expect(await ask(simple(1, 1), "", bearer(secretOf("large"), "large, small"))).toEqual(
      answer(["large"], 1),
    );
    expect(await ask(simple(1, 1), "", bearer("wrong"))).toEqual(answer([], 0));
    const many = Array.from({ length: limits.guessedClustersMax + 1 }, (_, at) => `c${at}`);
    const error = await failure(ask(simple(1, 1), "", bearer("wrong", many.join())));
    expect(error.code).toBe(status.RESOURCE_EXHAUSTED);
  });

  test("is refused in that server's words, and where it has none in ours", async () => {
    expect(await refusal(ask(simple(1, 1), "zzz"))).toBe("did not find algorithm named zzz");
    expect(await refusal(ask(""))).toBe("unexpected end of JSON input");
    expect(await refusal(ask('{"version": "1"}'))).toMatch(/version/);
  });

  test("a graph is not taken from who may not register", async () => {
    const put = MemoryGraph.method.register;
    const ghost = { name: "ghost", payload: graphOf(1) };
    expect(await refusal(call(client, put, ghost))).toBe("request denied");
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${REGISTER_SECRET}`);
    const send = () =>
      new Promise<Buffer>((resolve, reject) => {
        client.makeUnaryRequest<Buffer, Buffer>(
          pathOf(put),
          (same) => same,
          (same) => same,
          Buffer.from(toBinary(put.input, create(put.input, ghost))),
          metadata,
          (error: ServiceError | null, bytes) => (error ? reject(error) : resolve(bytes as Buffer)),
        );
      });
    expect(fromBinary(put.output, await send()).status).toBe(0);
    expect(await refusal(send())).toBe(
      "cluster graph ghost already exists and cannot be added again",
    );
  });
});

describe("a submission", () => {
  beforeEach(async () => {
    await register("small", graphOf(2));
    await register("large", graphOf(8));
  });

  test("becomes one job of the cluster that is chosen, with a number of its own", async () => {
    const text = simple(4, 1, ["echo", 'a "quoted" word']);
    const { jobid, cluster, status: said, clusters } = await submit(text, ["small", "large"]);
    expect({ jobid, cluster, said, clusters }).toEqual({
      jobid: 1,
      cluster: "large",
      said: 1,
      clusters: [],
    });
    const { spec, submittedBy } = await plane.operations.getJob("1");
    expect(spec).toMatchObject({ name: "app", placement: { kind: "pulling", cluster: "large" } });
    expect(submittedBy).toBe("submitter:large");
    expect(spec.jobspec).toBe(text);
  });

  test("is only tried when that is all that is asked", async () => {
    const { jobid, cluster, clusters } = await submit(simple(1, 1), ["small", "large"], {
      satisfyOnly: true,
      selectAlgorithm: "first",
    });
    expect({ jobid, cluster, clusters }).toEqual({
      jobid: 0,
      cluster: "",
      clusters: ["small", "large"],
    });
    expect((await plane.operations.listJobs({}, {})).jobs).toEqual([]);
  });

  test("is chosen for by the request's rules, which end with it", async () => {
    const state = (cluster: string, free: number) =>
      call(client, scheduler.updateState, {
        cluster,
        secret: secretOf(cluster),
        payload: JSON.stringify({ nodes_free: free }),
      });
    await state("small", 2);
    await state("large", 1);
    const rules = (text: string) => ({
      selectAlgorithm: "constraint",
      selectOptions: { priorities: text },
    });
    const sorted = rules(
      "- priority: 1\n  steps:\n  - sort_descending: nodes_free\n  - select: first\n",
    );
    expect((await submit(simple(1, 1), ["large", "small"], sorted)).cluster).toBe("small");
    const none = rules(
      '- priority: 1\n  steps:\n  - filter: "nodes_free > 5"\n  - select: first\n',
    );
    expect(await refusal(submit(simple(1, 1), ["large"], none))).toMatch(
      /^no clusters passed selection: large: /,
    );
    const owner = bytesOf([1, "large"], [2, tokenOf("large")]);
    const asIs = bytesOf([2, owner], [3, simple(1, 1)], [7, SENT]);
    const bytes = await callRaw(client, pathOf(scheduler.submitJob), asIs);
    expect(readAs({ 3: ["cluster", "text"] }, bytes)).toMatchObject({ cluster: "large" });
  });

  test("is refused in that server's words, and nothing is stored", async () => {
    const none = "one or more authenticated clusters are required";
    expect(await refusal(submit(simple(1, 1), []))).toBe(none);
    const nameless = [
      { name: "", token: "x" },
      { name: "small", token: "" },
    ];
    expect(await refusal(submit(simple(1, 1), [], { clusters: nameless }))).toBe(none);
    const mixed = [
      { name: "small", token: tokenOf("small") },
      { name: "large", token: "wrong" },
    ];
    expect(await refusal(submit(simple(1, 1), [], { clusters: mixed }))).toBe("request denied");
    expect(await refusal(submit(simple(1, 1), ["small"], { selectAlgorithm: "zzz" }))).toBe(
      "did not find algorithm named zzz",
    );
    expect(await refusal(submit(simple(9, 1), ["small", "large"]))).toMatch(
      /^no clusters passed selection: small: /,
    );
    expect(await refusal(submit("tasks: [", ["small"]))).not.toBe("");
    expect((await plane.operations.listJobs({}, {})).jobs).toEqual([]);
  });

  test("of the first generation goes where it says, and is handed over as it was sent", async () => {
    await registerAlone("old");
    const send = (fields: Field[]) =>
      callRaw(client, pathOf(scheduler.submitJob), bytesOf(...fields));
    const job: Field[] = [
      [1, "hi"],
      [2, "old"],
      [3, tokenOf("old")],
      [4, 3],
      [6, "echo 'a b' > c"],
    ];
    const bytes = await send(job);
    expect(readAs({ 2: ["jobid", "varint"], 3: ["status", "varint"] }, bytes)).toEqual({
      jobid: 1,
      status: 1,
    });
    const { jobs, status: said } = await call(client, scheduler.requestJobs, {
      cluster: "old",
      secret: secretOf("old"),
    });
    expect(said).toBe(1);
    const { jobspec, ...record } = JSON.parse(jobs[1] ?? "") as Record<string, unknown>;
    expect(record).toEqual({
      id: 1,
      cluster: "old",
      name: "hi",
      nodes: 3,
      tasks: 0,
      command: "echo 'a b' > c",
    });
    expect(jobspec).toContain('["echo","a b",">","c"]');
    expect(await refusal(send(job.filter(([number]) => number !== 3)))).toBe(
      "a cluster token is required",
    );
    expect(await refusal(send([...job, [3, "no"]]))).toBe("request denied");
    // Quotes that are quoted twice in a record, with the line itself beside.
    const large = await failure(send([...job, [6, `echo '${'"'.repeat(500_000)}'`]]));
    expect([large.code, large.details]).toEqual([
      status.RESOURCE_EXHAUSTED,
      expect.stringContaining("more than a cluster could receive"),
    ]);
  });

  test("of a megabyte is as good as any other", async () => {
    const text = simple(1, 1, ["echo", "x".repeat(900_000)]);
    expect((await submit(text, ["small"])).jobid).toBe(1);
    const { jobs } = await receive("small");
    expect((JSON.parse(jobs[1] ?? "") as { jobspec: string }).jobspec).toBe(text);
  });
});

describe("jobs that wait", () => {
  beforeEach(() => register("blue"));

  test("are received in order with all that readers look for, and stay until they are accepted", async () => {
    for (const word of ["one", "two words", "three"])
      await submit(simple(2, 3, ["echo", word]), ["blue"]);
    const { jobs, status: said } = await receive("blue", 2);
    expect(said).toBe(1);
    expect(Object.keys(jobs)).toEqual(["1", "2"]);
    expect(JSON.parse(jobs[2] ?? "")).toEqual({
      id: 2,
      cluster: "blue",
      name: "app",
      jobspec: simple(2, 3, ["echo", "two words"]),
      command: "echo 'two words'",
      nodes: 2,
      tasks: 3,
    });
    expect(Object.keys((await receive("blue", -1)).jobs)).toEqual(["1", "2", "3"]);
    expect(await accept("blue", [1, 2])).toBe(2);
    expect(Object.keys((await receive("blue")).jobs)).toEqual(["3"]);
    expect(await accept("blue", [3])).toBe(2);
    expect(await receive("blue")).toMatchObject({ status: 0, jobs: {} });
    expect((await plane.operations.getJob("3")).state).toBe("accepted");
  });

  test("are accepted in part when one of them is not to be had", async () => {
    for (let count = 0; count < 4; count++) await submit(simple(1, 1), ["blue"]);
    expect(await accept("blue", [1, 99])).toBe(1);
    expect(await accept("blue", [1])).toBe(1);
    expect(await accept("blue", [2, 2])).toBe(1);
    expect(await accept("blue", [-3, 2_147_483_647])).toBe(1);
    expect(await accept("blue", [3, 4])).toBe(2);
  });

  test("of several that want the same ones, one gets them all", async () => {
    for (let count = 0; count < 20; count++) await submit(simple(1, 1), ["blue"]);
    const all = Array.from({ length: 20 }, (_, at) => at + 1);
    const answers = await Promise.all(Array.from({ length: 4 }, () => accept("blue", all)));
    expect(answers.toSorted((a, b) => a - b)).toEqual([1, 1, 1, 2]);
  });

  test("come in parts where one answer would be too large for a client", async () => {
    const text = simple(1, 1, ["echo", "x".repeat(1_000_000)]);
    for (let count = 0; count < 5; count++) await submit(text, ["blue"]);
    const first = Object.keys((await receive("blue")).jobs).map(Number);
    expect(first.length).toBeLessThan(5);
    expect(await accept("blue", first)).toBe(2);
    const rest = Object.keys((await receive("blue")).jobs).map(Number);
    expect([...first, ...rest].slice(0, 3)).toEqual([1, 2, 3]);
  });

  test("that fill an answer to the last byte are received, without the line if need be", async () => {
    const jobOf = (length: number) => simple(1, 1, ["echo", "x".repeat(length)]);
    await submit(jobOf(100), ["blue"]);
    const around = Buffer.byteLength((await receive("blue")).jobs[1] ?? "") - 200;
    await accept("blue", [1]);
    // The argument stands in the jobspec and in the line.
    const fits = Math.floor((limits.receivedBytesMax - around) / 2);
    for (const [at, less] of [0, 6, 11, 12, 13].entries()) {
      await submit(jobOf(fits - less), ["blue"]);
      const { jobs } = await receive("blue");
      expect([less, ...Object.keys(jobs)]).toEqual([less, String(at + 2)]);
      const { command } = JSON.parse(jobs[at + 2] ?? "") as { command: string };
      expect([less, command.length]).toEqual([less, less < 12 ? 0 : fits - less + 5]);
      await accept("blue", [at + 2]);
    }
  });

  test("are refused in that server's words", async () => {
    const secretless = { cluster: "blue", secret: "" };
    const wrong = { cluster: "blue", secret: "no", jobids: [1] };
    expect(await refusal(call(client, scheduler.receiveJobs, secretless))).toBe(
      "a cluster secret is required",
    );
    expect(await refusal(call(client, scheduler.receiveJobs, wrong))).toBe("request denied");
    expect(await refusal(call(client, scheduler.acceptJobs, secretless))).toBe(
      "a cluster secret is required",
    );
    expect(await refusal(accept("blue", []))).toBe("one or more jobs must be accepted");
    expect(await refusal(call(client, scheduler.acceptJobs, wrong))).toBe("request denied");
  });

  test("of other doors come as a jobspec made of what they say", async () => {
    const placement = { cluster: "blue" };
    const sweep = {
      name: "sweep",
      command: ["run", "it's"],
      resources: { cpu: 2 },
      env: { A: "b" },
      cwd: "/tmp",
      timeLimitMs: 60_000,
      array: "4",
      placement,
    };
    const script = { name: "s", script: "echo 1\n", placement };
    await plane.operations.submitJobs([{ spec: sweep }, { spec: script }]);
    const { jobs } = await receive("blue");
    const [array, other] = [2_147_483_647, 2].map(
      (id) => JSON.parse(jobs[id] ?? "{}") as Record<string, unknown>,
    );
    expect(array).toMatchObject({
      id: 2_147_483_647,
      command: "run 'it'\\''s'",
      nodes: 1,
      tasks: 2,
    });
    expect(JSON.parse(String(array?.["jobspec"]))).toEqual({
      version: 1,
      name: "sweep",
      attributes: {
        duration: 60,
        cwd: "/tmp",
        environment: { A: "b", BUSBAR_ARRAY_INDEX: "4" },
      },
      resources: {
        "task-resources": {
          type: "slot",
          count: 1,
          with: [{ type: "core", count: 2 }],
        },
      },
      tasks: [
        {
          name: "task",
          resources: "task-resources",
          count: { total: 1 },
          command: ["run", "it's"],
        },
      ],
    });
    expect(other).toMatchObject({ id: 2, command: "" });
    expect(await accept("blue", [2_147_483_647, 2])).toBe(2);
  });
});

test("what the oldest clients try a server with is answered", async () => {
  const content = { id: "hello", metadata: {} };
  const answered = { requestId: "hello", processingDetails: "processed successfully" };
  expect(await call(client, scheduler.serial, { content })).toMatchObject({
    ...answered,
    messageCount: 0n,
  });
  const stream = openBidi(client, scheduler.stream);
  const answers = collect(stream);
  for (let count = 0; count < 2; count++) stream.write(create(scheduler.stream.input, { content }));
  stream.end();
  expect(await answers).toMatchObject([
    { ...answered, messageCount: 1n, messagesProcessed: 1n },
    { ...answered, messageCount: 2n, messagesProcessed: 2n },
  ]);
});
