import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { beforeEach, describe, expect, test } from "vitest";
import { MemoryGraph } from "../../gen/rainbow/v1/memory_pb.ts";
import { limits } from "../../limits.ts";
import { call, callRaw, failure, pathOf } from "../grpc/testing/grpc-client.ts";
import { bytesOf, type Field, readAs, SENT } from "./testing/wire.ts";
import {
  graphOf,
  refusal,
  REGISTER_SECRET,
  scheduler,
  simple,
  useRainbowBed,
} from "./testing/rainbow-bed.ts";

const bed = useRainbowBed();

describe("satisfy", () => {
  const ask = async (payload: string, matcher = "", headers: Record<string, string> = {}) => {
    const method = MemoryGraph.method.satisfy;
    const metadata = new Metadata();
    for (const [key, value] of Object.entries(headers)) metadata.set(key, value);
    const request = toBinary(method.input, create(method.input, { payload, matcher }));
    const bytes = await new Promise<Buffer>((resolve, reject) => {
      bed.client.makeUnaryRequest<Buffer, Buffer>(
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
    await bed.register("small", graphOf(2));
    await bed.register("large", graphOf(8));
  });

  test("names the clusters that can run it, each slot counted, and the total number", async () => {
    for (const matcher of ["", "match", "range", "equals"]) {
      expect(await ask(simple(2, 4), matcher)).toEqual(answer(["large", "small"], 2));
    }
    expect(await ask(simple(8, 4))).toEqual(answer(["large"], 2));
    expect(await ask(simple(1, 5))).toEqual(answer([], 2));
  });

  test("a repeated request sees clusters that come, fill up and go", async () => {
    const again = () => ask(simple(8, 4));
    expect(await again()).toEqual(answer(["large"], 2));
    expect(await again()).toEqual(answer(["large"], 2));
    await bed.register("larger", graphOf(9));
    expect(await again()).toEqual(answer(["large", "larger"], 3));
    for (const cluster of ["larger", "larger", "large"]) await bed.submit(simple(8, 4), [cluster]);
    expect(await again()).toEqual(answer(["large", "larger"], 3));
    const gone = { name: "large", secret: bed.secretOf("large") };
    await call(bed.client, scheduler.delete, gone);
    expect(await again()).toEqual(answer(["larger"], 2));
    await bed.register("tiny", graphOf(1));
    expect(await again()).toEqual(answer(["larger"], 3));
  });

  test("every cluster satisfies a request that names no resources", async () => {
    const nothing = JSON.stringify({ version: 1, tasks: [{ command: ["true"], local: true }] });
    expect(await ask(nothing)).toEqual(answer(["large", "small"], 2));
  });

  const asking = (nodes: number) => {
    const node = { type: "node", count: nodes, with: [{ type: "core", count: 2 }] };
    return { version: 1, resources: { ior: node } };
  };

  test("a jobspec without a command is answered by its resources", async () => {
    for (const none of [{}, { tasks: null }, { tasks: [], groups: null }]) {
      expect(await ask(JSON.stringify({ ...asking(2), ...none }))).toEqual(
        answer(["large", "small"], 2),
      );
      expect(await ask(JSON.stringify({ ...asking(8), ...none }))).toEqual(answer(["large"], 2));
    }
    const requires = [{ name: "io", field: "type", match: "shm" }];
    expect(await ask(JSON.stringify({ ...asking(2), requires }))).toEqual(answer([], 2));
  });

  test("a jobspec without a command is submitted, and received as it was sent", async () => {
    const text = `${JSON.stringify(asking(8))}\n`;
    expect((await bed.submit(text, ["small", "large"])).cluster).toBe("large");
    const { jobs } = await bed.receive("large");
    expect(JSON.parse(jobs[1] ?? "")).toMatchObject({ jobspec: text, command: "" });
    expect(await bed.accept("large", [1])).toBe(2);
  });

  test("shows only clusters that a credential is valid for", async () => {
    const bearer = (text: string, clusters = "") => ({
      authorization: `Bearer ${text}`,
      ...(clusters !== "" && { "busbar-clusters": clusters }),
    });
    expect(await ask(simple(1, 1), "", bearer(bed.tokenOf("small")))).toEqual(answer(["small"], 1));
    expect(await ask(simple(1, 1), "", bearer(bed.secretOf("large"), "large, small"))).toEqual(
      answer(["large"], 1),
    );
    expect(await ask(simple(1, 1), "", bearer("wrong"))).toEqual(answer([], 0));
    const many = Array.from({ length: limits.guessedClustersMax + 1 }, (_, at) => `c${at}`);
    const error = await failure(ask(simple(1, 1), "", bearer("wrong", many.join())));
    expect(error.code).toBe(status.RESOURCE_EXHAUSTED);
  });

  test("is rejected in that server's words, and where it has none in ours", async () => {
    expect(await refusal(ask(simple(1, 1), "zzz"))).toBe("did not find algorithm named zzz");
    expect(await refusal(ask(""))).toBe("unexpected end of JSON input");
    expect(await refusal(ask('{"version": "1"}'))).toMatch(/version/);
  });

  test("a graph is rejected from a client that may not register", async () => {
    const put = MemoryGraph.method.register;
    const ghost = { name: "ghost", payload: graphOf(1) };
    expect(await refusal(call(bed.client, put, ghost))).toBe("request denied");
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${REGISTER_SECRET}`);
    const send = () =>
      new Promise<Buffer>((resolve, reject) => {
        bed.client.makeUnaryRequest<Buffer, Buffer>(
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
    await bed.register("small", graphOf(2));
    await bed.register("large", graphOf(8));
  });

  test("becomes one job of the chosen cluster, with its own number", async () => {
    const text = simple(4, 1, ["echo", 'a "quoted" word']);
    const { jobid, cluster, status: said, clusters } = await bed.submit(text, ["small", "large"]);
    expect({ jobid, cluster, said, clusters }).toEqual({
      jobid: 1,
      cluster: "large",
      said: 1,
      clusters: [],
    });
    const { spec, submittedBy } = await bed.plane.operations.getJob("1");
    expect(spec).toMatchObject({ name: "app", placement: { kind: "pulling", cluster: "large" } });
    expect(submittedBy).toBe("submitter:large");
    expect(spec.jobspec).toBe(text);
  });

  test("is only tried when the request asks for that", async () => {
    const { jobid, cluster, clusters } = await bed.submit(simple(1, 1), ["small", "large"], {
      satisfyOnly: true,
      selectAlgorithm: "first",
    });
    expect({ jobid, cluster, clusters }).toEqual({
      jobid: 0,
      cluster: "",
      clusters: ["small", "large"],
    });
    expect((await bed.plane.operations.listJobs({}, {})).jobs).toEqual([]);
  });

  test("has its cluster chosen by the request's rules, which end with it", async () => {
    const state = (cluster: string, free: number) =>
      call(bed.client, scheduler.updateState, {
        cluster,
        secret: bed.secretOf(cluster),
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
    expect((await bed.submit(simple(1, 1), ["large", "small"], sorted)).cluster).toBe("small");
    const none = rules(
      '- priority: 1\n  steps:\n  - filter: "nodes_free > 5"\n  - select: first\n',
    );
    expect(await refusal(bed.submit(simple(1, 1), ["large"], none))).toMatch(
      /^no clusters passed selection: large: /,
    );
    expect(await refusal(bed.submit(simple(1, 9), ["large", "small"]))).toMatch(
      /^no clusters passed selection: large: .+ \| small: ./,
    );
    const owner = bytesOf([1, "large"], [2, bed.tokenOf("large")]);
    const asIs = bytesOf([2, owner], [3, simple(1, 1)], [7, SENT]);
    const bytes = await callRaw(bed.client, pathOf(scheduler.submitJob), asIs);
    expect(readAs({ 3: ["cluster", "text"] }, bytes)).toMatchObject({ cluster: "large" });
  });

  test("is rejected in that server's words, and nothing is stored", async () => {
    const none = "one or more authenticated clusters are required";
    expect(await refusal(bed.submit(simple(1, 1), []))).toBe(none);
    const nameless = [
      { name: "", token: "x" },
      { name: "small", token: "" },
    ];
    expect(await refusal(bed.submit(simple(1, 1), [], { clusters: nameless }))).toBe(none);
    const mixed = [
      { name: "small", token: bed.tokenOf("small") },
      { name: "large", token: "wrong" },
    ];
    expect(await refusal(bed.submit(simple(1, 1), [], { clusters: mixed }))).toBe("request denied");
    expect(await refusal(bed.submit(simple(1, 1), ["small"], { selectAlgorithm: "zzz" }))).toBe(
      "did not find algorithm named zzz",
    );
    expect(await refusal(bed.submit(simple(9, 1), ["small", "large"]))).toMatch(
      /^no clusters passed selection: small: /,
    );
    expect(await refusal(bed.submit("tasks: [", ["small"]))).not.toBe("");
    expect((await bed.plane.operations.listJobs({}, {})).jobs).toEqual([]);
  });

  test("of the first generation goes to the cluster that it names, and is received as it was sent", async () => {
    await bed.registerAlone("old");
    const send = (fields: Field[]) =>
      callRaw(bed.client, pathOf(scheduler.submitJob), bytesOf(...fields));
    const job: Field[] = [
      [1, "hi"],
      [2, "old"],
      [3, bed.tokenOf("old")],
      [4, 3],
      [6, "echo 'a b' > c"],
    ];
    const bytes = await send(job);
    expect(readAs({ 2: ["jobid", "varint"], 3: ["status", "varint"] }, bytes)).toEqual({
      jobid: 1,
      status: 1,
    });
    const { jobs, status: said } = await call(bed.client, scheduler.requestJobs, {
      cluster: "old",
      secret: bed.secretOf("old"),
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
      expect.stringContaining("more than a cluster can receive"),
    ]);
  });

  test("of a megabyte works like any other", async () => {
    const text = simple(1, 1, ["echo", "x".repeat(900_000)]);
    expect((await bed.submit(text, ["small"])).jobid).toBe(1);
    const { jobs } = await bed.receive("small");
    expect((JSON.parse(jobs[1] ?? "") as { jobspec: string }).jobspec).toBe(text);
  });
});
