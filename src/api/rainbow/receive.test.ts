import { create } from "@bufbuild/protobuf";
import { beforeEach, describe, expect, test } from "vitest";
import { limits } from "../../limits.ts";
import { call, collect, openBidi } from "../grpc/testing/grpc-client.ts";
import { refusal, scheduler, simple, useRainbowBed } from "./testing/rainbow-bed.ts";

const bed = useRainbowBed();

describe("offered jobs", () => {
  beforeEach(() => bed.register("blue"));

  test("are received in order with all fields that readers look for, and stay until they are accepted", async () => {
    for (const word of ["one", "two words", "three"])
      await bed.submit(simple(2, 3, ["echo", word]), ["blue"]);
    const { jobs, status: said } = await bed.receive("blue", 2);
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
    expect(Object.keys((await bed.receive("blue", -1)).jobs)).toEqual(["1", "2", "3"]);
    expect(await bed.accept("blue", [1, 2])).toBe(2);
    expect(Object.keys((await bed.receive("blue")).jobs)).toEqual(["3"]);
    expect(await bed.accept("blue", [3])).toBe(2);
    expect(await bed.receive("blue")).toMatchObject({ status: 0, jobs: {} });
    expect((await bed.plane.operations.getJob("3")).state).toBe("accepted");
  });

  test("of repeated jobspecs have each its own name, text and request", async () => {
    const [small, large] = [simple(1, 1), simple(2, 3)];
    const sent = [
      ["a", small],
      ["a", small],
      ["b", small],
      ["b", large],
      ["a", small],
      ["", large],
      ["b", large],
    ] as const;
    for (const [name, jobspec] of sent) await bed.submit(jobspec, ["blue"], { name });
    const { jobs } = await bed.receive("blue");
    const received = Object.values(jobs).map((record) => JSON.parse(record) as object);
    expect(received).toMatchObject(
      sent.map(([name, jobspec]) => ({
        name: name === "" ? "jobspec" : name,
        jobspec,
        nodes: jobspec === small ? 1 : 2,
      })),
    );
    for (const [at, [, jobspec]] of sent.entries()) {
      const { spec } = await bed.plane.operations.getJob(String(at + 1));
      expect(spec.resources).toEqual({ cpu: jobspec === small ? 1 : 6 });
    }
  });

  test("are accepted in part when one of them is unavailable", async () => {
    for (let count = 0; count < 4; count++) await bed.submit(simple(1, 1), ["blue"]);
    expect(await bed.accept("blue", [1, 99])).toBe(1);
    expect(await bed.accept("blue", [1])).toBe(1);
    expect(await bed.accept("blue", [2, 2])).toBe(1);
    expect(await bed.accept("blue", [-3, 2_147_483_647])).toBe(1);
    expect(await bed.accept("blue", [3, 4])).toBe(2);
  });

  test("requested by several clients at once go to one of them", async () => {
    for (let count = 0; count < 20; count++) await bed.submit(simple(1, 1), ["blue"]);
    const all = Array.from({ length: 20 }, (_, at) => at + 1);
    const answers = await Promise.all(Array.from({ length: 4 }, () => bed.accept("blue", all)));
    expect(answers.toSorted((a, b) => a - b)).toEqual([1, 1, 1, 2]);
  });

  test("come in parts where one answer would be too large for a client", async () => {
    const text = simple(1, 1, ["echo", "x".repeat(1_000_000)]);
    for (let count = 0; count < 5; count++) await bed.submit(text, ["blue"]);
    const first = Object.keys((await bed.receive("blue")).jobs).map(Number);
    expect(first.length).toBeLessThan(5);
    expect(await bed.accept("blue", first)).toBe(2);
    const rest = Object.keys((await bed.receive("blue")).jobs).map(Number);
    expect([...first, ...rest].slice(0, 3)).toEqual([1, 2, 3]);
  });

  test("that fill an answer to the last byte are received, without the line if necessary", async () => {
    const jobOf = (length: number) => simple(1, 1, ["echo", "x".repeat(length)]);
    await bed.submit(jobOf(100), ["blue"]);
    const around = Buffer.byteLength((await bed.receive("blue")).jobs[1] ?? "") - 200;
    await bed.accept("blue", [1]);
    // The argument is in the jobspec and in the line.
    const fits = Math.floor((limits.receivedBytesMax - around) / 2);
    for (const [at, less] of [0, 6, 11, 12, 13].entries()) {
      await bed.submit(jobOf(fits - less), ["blue"]);
      const { jobs } = await bed.receive("blue");
      expect([less, ...Object.keys(jobs)]).toEqual([less, String(at + 2)]);
      const { command } = JSON.parse(jobs[at + 2] ?? "") as { command: string };
      expect([less, command.length]).toEqual([less, less < 12 ? 0 : fits - less + 5]);
      await bed.accept("blue", [at + 2]);
    }
  });

  test("are rejected in that server's words", async () => {
    const secretless = { cluster: "blue", secret: "" };
    const wrong = { cluster: "blue", secret: "no", jobids: [1] };
    expect(await refusal(call(bed.client, scheduler.receiveJobs, secretless))).toBe(
      "a cluster secret is required",
    );
    expect(await refusal(call(bed.client, scheduler.receiveJobs, wrong))).toBe("request denied");
    expect(await refusal(call(bed.client, scheduler.acceptJobs, secretless))).toBe(
      "a cluster secret is required",
    );
    expect(await refusal(bed.accept("blue", []))).toBe("one or more jobs must be accepted");
    expect(await refusal(call(bed.client, scheduler.acceptJobs, wrong))).toBe("request denied");
  });

  test("of other doors come as a jobspec made from their spec", async () => {
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
    await bed.plane.operations.submitJobs([{ spec: sweep }, { spec: script }]);
    const { jobs } = await bed.receive("blue");
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
    expect(await bed.accept("blue", [2_147_483_647, 2])).toBe(2);
  });
});

test("the first requests of the oldest clients are answered", async () => {
  const content = { id: "hello", metadata: {} };
  const answered = { requestId: "hello", processingDetails: "processed successfully" };
  expect(await call(bed.client, scheduler.serial, { content })).toMatchObject({
    ...answered,
    messageCount: 0n,
  });
  const stream = openBidi(bed.client, scheduler.stream);
  const answers = collect(stream);
  for (let count = 0; count < 2; count++) stream.write(create(scheduler.stream.input, { content }));
  stream.end();
  expect(await answers).toMatchObject([
    { ...answered, messageCount: 1n, messagesProcessed: 1n },
    { ...answered, messageCount: 2n, messagesProcessed: 2n },
  ]);
});
