import { rmSync } from "node:fs";
import { join } from "node:path";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import type { Executor, RunId } from "../../../src/ports/executor.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import { Site } from "../../support/busbar.ts";
import { type BusbarBed, makeBusbarBed } from "./busbar-bed.ts";
import { aRequest, describeExecutorContract, endOfRun, reportFor } from "./executor-contract.ts";
import { sampleProcesses, shell } from "./process-behaviour.ts";

// A real Busbar with a real agent, which all tests share: each test has its own group there.
let lower: Site;
beforeAll(async () => {
  lower = new Site();
  const at = ["--data", lower.path("data"), "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"];
  const up = lower.start(["up", ...at, "--name", "below"]);
  lower.server = await up.prints(/gRPC:\s+(\S+:\d+)/);
  await lower.nodeIs("below", "connected");
}, 60_000);
afterAll(() => lower.close());

const makeBed = (): BusbarBed => makeBusbarBed(() => lower.server);

describeExecutorContract("the executor above another Busbar", sampleProcesses, makeBed);

describe("beyond the contract", () => {
  let bed: BusbarBed;
  let executor: Executor;
  const open = async (): Promise<Executor> => {
    bed = makeBed();
    executor = await bed.open();
    return executor;
  };
  afterEach(async () => {
    await executor.close();
    await bed.dispose();
  });
  const ID: RunId = { jobId: 1, index: 0, attempt: 1 };
  const jobsBelow = async () =>
    (await lower.client.listJobs({ filter: { group: bed.group } })).jobs;

  test("a task of an array has its own index and the array's size below", async () => {
    const id = { jobId: 3, index: 7, attempt: 1 };
    await open();
    const work = shell('echo "$BUSBAR_ARRAY_INDEX $BUSBAR_ARRAY_SIZE $BUSBAR_ORIGIN_TASK_ID"');
    const job = { spec: new Uint8Array(), submittedAtMs: 5, arraySize: 9 };
    executor.start(aRequest(work, { id, arrayIndex: 7, job }));
    await endOfRun(executor, id);
    const { data } = await executor.readOutput(id, "stdout", {
      offset: 0,
      maxBytes: 100,
      waitMs: 0,
    });
    expect(Buffer.from(data).toString()).toBe("7 9 3.7\n");
  });

  test("a run that is queued below reports the reason, and what ended it there", async () => {
    await open();
    executor.start(aRequest(sampleProcesses.endless(), { needs: { cpu: 1_000_000_000 } }));
    const [queued] = await eventually(
      () => {
        const why = executor.whyQueued?.() ?? [];
        return why.some(({ reason }) => reason.includes("no registered node can run it"))
          ? why
          : undefined;
      },
      { what: "its reason", timeoutMs: 20_000 },
    );
    expect(queued).toMatchObject({ runs: [ID] });
    expect(queued?.reason).toMatch(/^busbar: no registered node can run it \(1 node: /);
    const [job] = await jobsBelow();
    await lower.client.cancelJob({ id: job?.id ?? "", reason: "maintenance" });
    expect((await endOfRun(executor, ID)).end).toEqual({
      kind: "could-not-start",
      message: "cancelled at site site: maintenance",
    });
  });

  test("a run that is cancelled below has that reason", async () => {
    await open();
    executor.start(aRequest(sampleProcesses.endless()));
    await eventually(() => reportFor(executor, ID)?.kind === "running", { what: "its start" });
    const [job] = await jobsBelow();
    await lower.client.cancelJob({ id: job?.id ?? "", reason: "maintenance" });
    expect((await endOfRun(executor, ID)).end).toEqual({
      kind: "signalled",
      signal: "SIGTERM",
      message: "cancelled at site site: maintenance",
    });
  });

  test("a run whose submission is not recorded does not become a second job", async () => {
    bed = makeBed();
    executor = await bed.open();
    const request = aRequest(sampleProcesses.counting("once"));
    executor.start(request);
    const [first] = await eventually(
      async () => {
        const jobs = await jobsBelow();
        return jobs.length === 0 ? undefined : jobs;
      },
      { what: "the job" },
    );
    // Simulates a loss with the machine: the server above starts the run again.
    await executor.close();
    rmSync(join(bed.directory, "busbar", "journal.ndjson"));
    executor = await bed.open();
    executor.start(request);
    await eventually(() => reportFor(executor, ID)?.kind === "running", { what: "its start" });
    executor.stop(ID);
    expect((await endOfRun(executor, ID)).end.kind).toBe("stopped");
    expect(await jobsBelow()).toMatchObject([{ id: first?.id }]);
  });
});
