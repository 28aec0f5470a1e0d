import { describe, expect, test } from "vitest";
import { parseJobspec } from "../../../core/jobspec/read/parse.ts";
import { Busbar } from "../../../gen/busbar/v1/busbar_pb.ts";
import { limits } from "../../../limits.ts";
import { createFakeOperations } from "../testing/fake-operations.ts";
import { call, failure } from "../../grpc/testing/grpc-client.ts";
import { serveNativeDoors } from "../testing/native-doors.ts";

const operations = createFakeOperations();
const { client, http } = await serveNativeDoors(operations);

const { method } = Busbar;
const request = [[{ type: "node", with: [{ type: "core", count: 2 }] }]];
const lastArgs = () => operations.last()?.args;

describe("over gRPC", () => {
  test("a job may request parts of a graph, and the choice of a cluster", async () => {
    const select = {
      strategy: "cheapest",
      options: '{"key":"price"}',
      parameters: { wanted: { value: { case: "number", value: 2 } } },
    } as const;
    const spec = { command: ["a"], request: JSON.stringify(request), select };
    await call(client, method.submitJobs, { jobs: [{ spec }], allowUnsatisfiable: true });
    const [[job], options] = lastArgs() as [{ spec: unknown }[], unknown];
    expect(options).toEqual({ allowUnsatisfiable: true });
    expect(job?.spec).toMatchObject({
      request,
      select: { strategy: "cheapest", options: { key: "price" }, parameters: { wanted: 2 } },
    });
    const wrong = { command: ["a"], request: "[" };
    expect(
      await failure(call(client, method.submitJobs, { jobs: [{ spec: wrong }] })),
    ).toMatchObject({ details: expect.stringContaining("jobs[0].request: is not JSON") as string });
  });

  test("a jobspec is submitted with the terms for all of its jobs, and no others", async () => {
    const answer = await call(client, method.submitJobspec, {
      jobspec: "text",
      group: "g",
      allowUnsatisfiable: true,
      idempotencyKey: "k",
    });
    expect(answer.jobs.map(({ id, name, existed }) => [id, name, existed])).toEqual([
      ["7", "g text", false],
      ["8", "more", true],
    ]);
    expect(lastArgs()?.[0]).toEqual({
      jobspec: "text",
      idempotencyKey: "k",
      allowUnsatisfiable: true,
      common: { group: "g" },
    });
  });

  test("jobs and jobspecs can be tried", async () => {
    const jobs = { jobs: [{ spec: { name: "x", command: ["a"] } }] };
    const tried = await call(client, method.tryJobs, { ask: { case: "jobs", value: jobs } });
    expect(tried.jobs).toMatchObject([
      {
        name: "x",
        tasks: 3n,
        waiting: 1n,
        possible: true,
        placements: [
          { index: 0, cluster: "local", node: "n1" },
          { index: 1, cluster: "blue" },
        ],
      },
    ]);
    const jobspec = { jobspec: "text" };
    const other = await call(client, method.tryJobs, { ask: { case: "jobspec", value: jobspec } });
    expect(other.jobs[0]?.name).toBe("text");
    expect(await failure(call(client, method.tryJobs, {}))).toMatchObject({
      details: "ask: needs jobs or a jobspec",
    });
  });
});

describe("over REST", () => {
  test("a job may request parts of a graph, and be accepted though it is unsatisfiable", async () => {
    const body = { command: ["a"], request, select: { strategy: "first" } };
    const { status } = await http.send("POST", "/v1/jobs?allowUnsatisfiable=true", body);
    expect(status).toBe(201);
    expect(lastArgs()).toMatchObject([
      [{ spec: { request, select: { strategy: "first" } } }],
      { allowUnsatisfiable: true },
    ]);
  });

  test("jobspecs can be submitted and tried", async () => {
    const body = { jobspec: "text", group: "g", placement: { cluster: "blue" } };
    const created = await http.send("POST", "/v1/jobspecs", body);
    expect(created).toMatchObject({ status: 201, json: { jobs: [{ id: "7", name: "g text" }] } });
    expect(lastArgs()?.[0]).toMatchObject({
      jobspec: "text",
      common: { group: "g", placement: { cluster: "blue" } },
    });
    const tried = await http.send("POST", "/v1/jobspecs/try", body);
    expect(tried).toMatchObject({ status: 200, json: { jobs: [{ name: "text", tasks: 3 }] } });
  });

  test("the jobspec of a large body comes from the reader, and its other fields are checked", async () => {
    const small =
      "version: 1\nresources: { r: { type: node, count: 1 } }\ntasks: [{ name: a, command: [a], resources: r }]";
    const jobspec = `${small}\n# ${"x".repeat(limits.graphInlineBytesMax)}`;
    const created = await http.send("POST", "/v1/jobspecs", { jobspec, group: "g" });
    expect(created.status).toBe(201);
    expect(lastArgs()?.[0]).toMatchObject({
      jobspec: parseJobspec(small),
      common: { group: "g" },
    });
    const wrong = await http.send("POST", "/v1/jobspecs", { jobspec, group: 1 });
    expect(wrong).toMatchObject({ status: 400, json: { error: { field: "group" } } });
    expect((await http.send("POST", "/v1/satisfy", { jobspec })).status).toBe(200);
    expect(lastArgs()?.[0]).toMatchObject({ ask: { jobspec: parseJobspec(small) } });
  });

  test("one job or many can be tried", async () => {
    const one = await http.send("POST", "/v1/jobs/try", { name: "x", command: ["a"] });
    expect(one).toMatchObject({ status: 200, json: { jobs: [{ name: "x", possible: true }] } });
    const many = await http.send("POST", "/v1/jobs/try", { jobs: [{ name: "y", command: ["a"] }] });
    expect(many).toMatchObject({ status: 200, json: { jobs: [{ name: "y" }] } });
    expect(await http.send("POST", "/v1/jobs/try", { nme: "x" })).toMatchObject({ status: 400 });
  });
});
