import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { authority, client, server } from "../../src/api/grpc/testing/certificates.ts";
import { type Connection, type Line, rainbowGo, type RainbowGo } from "./support/rainbow-go.ts";
import { IO, nodesJson, RainbowSite } from "./support/rainbow-site.ts";

// rainbow's clients in Go are not available as a module. These are ours, made from the same parts (grpc-go and Go's protobuf at their
// versions), with the same behaviour on the wire. All use one server; some connect to its port with TLS and some without.
let site: RainbowSite;
let plain: Connection;
let mutual: Connection;
beforeAll(async () => {
  site = new RainbowSite();
  const cert = site.file("server.pem", server.cert);
  const key = site.file("server.key", server.key);
  const ca = site.file("ca.pem", authority);
  const files = ["--rainbow-cert", cert, "--rainbow-key", key, "--rainbow-ca", ca];
  await site.startRainbow(...files);
  plain = { host: site.rainbow };
  const own = { cert: site.file("own.pem", client.cert), key: site.file("own.key", client.key) };
  mutual = { host: site.rainbow.replace("127.0.0.1", "localhost"), tls: { ca, ...own } };
});
afterAll(() => site.close());

const UUID: unknown = expect.stringMatching(/^[0-9a-f-]{36}$/);
const SCHEDULER = "convergedcomputing.org.grpc.v1.RainbowScheduler";

interface SubmitOptions {
  readonly at?: Connection;
  readonly copies?: number;
  readonly clusters?: readonly { readonly name: string; readonly token: string }[];
}

/** The only line that a call printed. */
function only(lines: readonly Line[]): Line {
  expect(lines).toHaveLength(1);
  return lines[0] ?? {};
}

interface Credentials {
  readonly token: string;
  readonly secret: string;
}

describe("a client in Go of February 2024", () => {
  let go: RainbowGo;
  beforeAll(async () => {
    go = await rainbowGo("february");
  }, 300_000);
  const call = async (method: string, request: object): Promise<Line> =>
    only(await go(plain, "call", { method: `${SCHEDULER}.${method}`, request }));
  const refusal = async (method: string, request: object) => (await call(method, request)).failed;

  test("sends its first requests to the server", async () => {
    const data = { "@type": "type.googleapis.com/google.protobuf.StringValue", value: "hi" };
    const hello = { content: { id: "hello", data, metadata: { a: "b" } } };
    const answer = { request_id: "hello", processing_details: "processed successfully" };
    expect(await call("Serial", hello)).toEqual({ returned: answer, unknown: "" });
    const told = await go(plain, "stream", {
      method: `${SCHEDULER}.Stream`,
      requests: [hello, hello],
    });
    expect(told).toEqual([
      { returned: { ...answer, message_count: "1", messages_processed: "1" }, unknown: "" },
      { returned: { ...answer, message_count: "2", messages_processed: "2" }, unknown: "" },
    ]);
  });

  test("registers by name alone, submits a command, requests and accepts it", async () => {
    const cluster = "february";
    const register = { name: cluster, secret: site.registerSecret };
    const { returned, unknown } = await call("Register", register);
    expect(returned).toEqual({ token: UUID, secret: UUID, status: "REGISTER_SUCCESS" });
    // The status once more, for clients that read it as field 3.
    expect(unknown).toBe("1801");
    expect(await call("Register", register)).toEqual({
      returned: { status: "REGISTER_EXISTS" },
      unknown: "1804",
    });
    expect(await refusal("Register", { ...register, secret: "chocolate-cookies" })).toEqual({
      code: "Unknown",
      text: "request denied",
    });

    const { token, secret } = returned as unknown as Credentials;
    const job = { name: "hi", cluster, token, nodes: 2, tasks: 0, command: 'echo "a  \'b" ü' };
    const submitted = await call("SubmitJob", job);
    expect(submitted).toEqual({
      returned: { jobid: expect.any(Number), status: "SUBMIT_SUCCESS" },
      unknown: "",
    });
    expect(await refusal("SubmitJob", { ...job, token: "" })).toEqual({
      code: "Unknown",
      text: "a cluster token is required",
    });
    for (const wrong of [{ token: "no" }, { cluster: "February" }, { cluster: "%" }]) {
      expect((await refusal("SubmitJob", { ...job, ...wrong }))?.text).toBe("request denied");
    }

    const { jobid } = submitted.returned as { jobid: number };
    const request = await call("RequestJobs", { cluster, secret, maxJobs: 5 });
    const { jobs, status } = request.returned as { jobs: Record<string, string>; status: string };
    expect([status, Object.keys(jobs)]).toEqual(["REQUEST_JOBS_SUCCESS", [String(jobid)]]);
    const { token: _, ...record } = job;
    expect(JSON.parse(jobs[jobid] ?? "")).toMatchObject({ ...record, id: jobid });
    const accept = (...jobids: number[]) => call("AcceptJobs", { cluster, secret, jobids });
    const all = { returned: { status: "RESULT_TYPE_SUCCESS" }, unknown: "" };
    const some = { returned: { status: "RESULT_TYPE_PARTIAL" }, unknown: "" };
    expect([await accept(jobid), await accept(jobid)]).toEqual([all, some]);
    expect(await call("RequestJobs", { cluster, secret })).toEqual({ returned: {}, unknown: "" });
    await site.jobIs(String(jobid), "accepted");
  });
});

describe("a client in Go of June 2024", () => {
  let go: RainbowGo;
  let keys: Credentials;
  beforeAll(async () => {
    go = await rainbowGo("june");
  }, 300_000);
  const cluster = "june";
  const call = async (method: string, request: object, at = plain): Promise<Line> =>
    only(await go(at, "call", { method: `${SCHEDULER}.${method}`, request }));
  const mine = () => ({ cluster, secret: keys.secret });
  const submit = (jobspec: string, { at = plain, ...more }: SubmitOptions = {}) =>
    go(at, "submit", { jobspec, clusters: [{ name: cluster, token: keys.token }], ...more });
  const receive = (more: object = {}, at = plain) => go(at, "receive", { ...mine(), ...more });

  test("registers a cluster and its subsystems, and sends its state, encrypted", async () => {
    const nodes = JSON.stringify(nodesJson(3, 4), null, 2);
    const register = { name: cluster, secret: site.registerSecret, nodes };
    const { returned, unknown } = await call("Register", register, mutual);
    expect(returned).toEqual({ token: UUID, secret: UUID, status: "REGISTER_SUCCESS" });
    expect(unknown).toBe("");
    keys = returned as unknown as Credentials;
    const io = { name: cluster, secret: keys.secret, subsystem: "io", nodes: JSON.stringify(IO) };
    expect(await call("RegisterSubsystem", io, mutual)).toEqual({
      returned: { status: "REGISTER_SUCCESS" },
      unknown: "",
    });
    const payload = JSON.stringify({ nodes_free: 3, "cost-per-hour": 0.5 });
    expect(await call("UpdateState", { ...mine(), payload }, mutual)).toEqual({
      returned: { status: "UPDATE_STATE_SUCCESS" },
      unknown: "",
    });
  });

  test("gets no connection without its own certificate", async () => {
    const { ca } = mutual.tls ?? { ca: "" };
    const without = { host: mutual.host, tls: { ca, waitMs: 500 } };
    expect((await call("ReceiveJobs", mine(), without)).failed).toEqual({
      text: "context deadline exceeded",
    });
  });

  const JOBSPEC = `
version: 1
name: ior
resources:
  ior-resources:
    type: rack
    replicas: 1
    label: ior
    with:
      - type: node
        count: 1
        requires:
          - {name: io, field: type, match: shm}
        with: [{type: core, count: 2}]
tasks:
  - {name: build, replicas: 1, resources: ior-resources, command: [spack, install, 'ior "x"']}
  - {name: run, replicas: 1, resources: ior-resources, command: [ior, -a], depends_on: [build]}
`;

  test("asks in plaintext, submits over TLS, and receives what Go wrote", async () => {
    const [matches, submitted] = await submit(JOBSPEC, { at: mutual });
    expect(matches).toEqual({ matches: [cluster] });
    expect(submitted).toEqual({
      returned: { jobid: expect.any(Number), cluster, status: "SUBMIT_SUCCESS" },
      unknown: "",
    });
    const [received, accepted, rest] = await receive({}, mutual);
    const jobid = Number(submitted?.returned?.jobid);
    const record = JSON.parse(received?.jobs?.[jobid] ?? "") as Record<string, unknown>;
    expect(record).toMatchObject({ id: jobid, cluster, name: "ior", command: "" });
    expect(record.jobspec).toContain("attributes: {}");
    expect(record.jobspec).toContain('- ior "x"');
    expect(record.jobspec).not.toContain("depends_on");
    expect(accepted).toMatchObject({ accepted: [jobid], status: "RESULT_TYPE_SUCCESS" });
    expect(rest).toMatchObject({ jobs: {}, status: "REQUEST_JOBS_NORESULTS" });
  });

  test("learns that nothing matches, and gets no clusters", async () => {
    expect(await submit(JOBSPEC.replace("count: 1", "count: 2"))).toEqual([{ matches: [] }]);
    const known = [
      { name: cluster, token: keys.token },
      { name: "other", token: "wrong" },
    ];
    const [, submitted] = await submit(JOBSPEC, { clusters: known });
    expect(submitted?.returned).toMatchObject({ cluster });
    expect(await receive()).toHaveLength(3);
  });

  test("asks with an empty slot, and without a command", async () => {
    const slot = { type: "slot", count: 1, label: "echo" };
    const tasks = [{ replicas: 1, resources: "task-resources", command: ["echo"] }];
    const ask = async (nodes: number, more: object) => {
      const resources = { "task-resources": { type: "node", count: nodes, with: [slot] } };
      const payload = JSON.stringify({ version: 1, resources, ...more });
      const request = { payload, matcher: "match" };
      return only(await go(plain, "call", { method: "service.MemoryGraph.Satisfy", request }));
    };
    const none = { status: "RESULT_TYPE_SUCCESS", total_clusters: expect.any(Number) };
    expect((await ask(3, { tasks })).returned).toMatchObject({ ...none, clusters: [cluster] });
    expect((await ask(4, { tasks })).returned).not.toHaveProperty("clusters");
    for (const none of [{}, { tasks: null }, { tasks: [] }]) {
      expect((await ask(3, none)).returned).toMatchObject({ clusters: [cluster] });
      expect((await ask(4, none)).returned).not.toHaveProperty("clusters");
    }
  });

  test("is rejected with the code UNKNOWN and that server's message", async () => {
    const nodes = JSON.stringify(nodesJson(1, 1));
    const register = { name: "x", secret: site.registerSecret };
    const subsystem = { name: cluster, secret: keys.secret, subsystem: "io", nodes };
    const clusters = [{ name: cluster, token: keys.token }];
    const job = { name: "x", clusters, jobspec: JOBSPEC };
    const secret = "no";
    const cases: readonly (readonly [string, object, string])[] = [
      ["Register", {}, "request denied"],
      ["Register", { ...register, secret, nodes }, "request denied"],
      ["Register", register, "cluster nodes are required"],
      ["Register", { ...register, nodes: "{}" }, EMPTY],
      ["RegisterSubsystem", { ...subsystem, subsystem: "" }, INCOMPLETE],
      ["RegisterSubsystem", { ...subsystem, secret }, "request denied"],
      ["RegisterSubsystem", subsystem, "subsystem io already exists for cluster june"],
      ["UpdateState", mine(), "cluster, name, secret, and state file payload are required"],
      ["UpdateState", { cluster, secret, payload: "{}" }, "request denied"],
      ["SubmitJob", { ...job, clusters: [{}] }, "one or more authenticated clusters are required"],
      [
        "SubmitJob",
        { ...job, clusters: [...clusters, { name: "x", token: "x" }] },
        "request denied",
      ],
      ["SubmitJob", { ...job, select_algorithm: "zzz" }, "did not find algorithm named zzz"],
      ["ReceiveJobs", { cluster }, "a cluster secret is required"],
      ["ReceiveJobs", { cluster: "JUNE", secret: keys.secret }, "request denied"],
      ["AcceptJobs", { cluster, jobids: [1] }, "a cluster secret is required"],
      ["AcceptJobs", mine(), "one or more jobs must be accepted"],
      ["AcceptJobs", { cluster, secret, jobids: [1] }, "request denied"],
      ["Delete", { name: cluster }, "cluster name and secret are required"],
      ["Delete", { name: "nobody", secret }, "request denied"],
      ["DeleteSubsystem", { name: cluster, secret: keys.secret, subsytem: "zz" }, NO_SUBSYSTEM],
    ];
    for (const [method, request, text] of cases) {
      expect({ method, ...(await call(method, request)) }).toEqual({
        method,
        failed: { code: "Unknown", text },
      });
    }
  });

  const EMPTY = "subsystem cluster must have at least one edge and node";
  const INCOMPLETE = "subsystem nodes, name, cluster name and secret are required";
  const NO_SUBSYSTEM = "cluster graph june does not have subsystem zz";

  /** With as many bytes in its command. */
  const large = (bytes: number) => JOBSPEC.replace("-a]", `${"x".repeat(bytes)}]`);
  const idsOf = (lines: readonly Line[]): readonly number[] =>
    lines.flatMap(({ returned }) => (returned === undefined ? [] : [Number(returned.jobid)]));

  const sorted = (accepts: readonly Line[]): readonly number[] =>
    accepts.flatMap(({ accepted }) => accepted ?? []).toSorted((a, b) => a - b);

  test("receives more than fits one answer in parts, each job once and complete", async () => {
    const ids = [
      ...idsOf(await submit(large(1_300_000))),
      ...idsOf(await submit(large(500_000), { copies: 20 })),
    ];
    expect(ids).toHaveLength(21);
    const lines = await receive({ maxJobs: 0 }, mutual);
    const answers = lines.filter(({ status }) => status === "REQUEST_JOBS_SUCCESS");
    expect(answers.length).toBeGreaterThan(2);
    for (const { bytes = Infinity } of answers) expect(bytes).toBeLessThanOrEqual(4 * 1024 * 1024);
    const got = answers.flatMap(({ jobs }) => Object.entries(jobs ?? {}));
    expect(got.map(([id]) => Number(id))).toEqual(ids);
    for (const [id, text] of got) {
      const { jobspec } = JSON.parse(text) as { jobspec: string };
      expect(/x{100,}/.exec(jobspec)?.[0]).toHaveLength(
        Number(id) === ids[0] ? 1_300_000 : 500_000,
      );
    }
    const accepts = lines.filter(({ accepted }) => accepted !== undefined);
    expect(new Set(accepts.map(({ status }) => status))).toEqual(new Set(["RESULT_TYPE_SUCCESS"]));
    expect(sorted(accepts)).toEqual(ids);
    expect(lines.at(-1)?.status).toBe("REQUEST_JOBS_NORESULTS");
  });

  test("is one of four that receive, and the first that accepts has all", async () => {
    const ids = idsOf(await submit(JOBSPEC, { copies: 20 }));
    const lines = await receive({ receivers: 4 });
    const told = lines.filter(({ status }) => status === "REQUEST_JOBS_SUCCESS");
    expect(told.map(({ jobs }) => Object.keys(jobs ?? {}).map(Number))).toEqual([
      ids,
      ids,
      ids,
      ids,
    ]);
    const accepts = lines.filter(({ accepted }) => accepted !== undefined);
    const taken = accepts.filter(({ status }) => status === "RESULT_TYPE_SUCCESS");
    const others = accepts.filter(({ status }) => status === "RESULT_TYPE_PARTIAL");
    expect([taken.length, others.length, accepts.length]).toEqual([1, 3, 4]);
  });

  test("is one of four that accept job by job: each job goes to one", async () => {
    const ids = idsOf(await submit(JOBSPEC, { copies: 20 }));
    const lines = await receive({ receivers: 4, oneByOne: true });
    const accepts = lines.filter(({ accepted }) => accepted !== undefined);
    expect(accepts).toHaveLength(80);
    const taken = accepts.filter(({ status }) => status === "RESULT_TYPE_SUCCESS");
    expect(sorted(taken)).toEqual(ids);
  });

  test("deletes a subsystem, and then the cluster", async () => {
    const { secret } = keys;
    const gone = { returned: {}, unknown: "" };
    expect(await call("DeleteSubsystem", { name: cluster, secret, subsytem: "io" })).toEqual(gone);
    expect(await submit(JOBSPEC)).toEqual([{ matches: [] }]);
    expect(await call("Delete", { name: cluster, secret }, mutual)).toEqual(gone);
    expect((await call("ReceiveJobs", mine())).failed?.text).toBe("request denied");
  });
});
