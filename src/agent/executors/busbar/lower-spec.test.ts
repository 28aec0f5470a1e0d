import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { JobSpecSchema } from "../../../gen/busbar/v1/busbar_pb.ts";
import { limits } from "../../../limits.ts";
import type { RunRequest } from "../../../ports/executor.ts";
import { idempotencyKeyOf, readLowerSpec, toLowerSpec } from "./lower-spec.ts";

const SITE = { cluster: "site-a", fingerprint: "f1", group: "upstream", below: undefined };

const REQUEST: RunRequest = {
  id: { jobId: 17, index: 3, attempt: 2 },
  name: "sweep",
  arrayIndex: 3,
  work: { kind: "script", text: "exit 1" },
  before: ["nice", "-n", "5"],
  request: undefined,
  needs: { cpu: 500, memory: 1_024 },
  env: { A: "1", BUSBAR_JOB_ID: "17", BUSBAR_NODE: "site-a-agent" },
  cwd: "/data",
  timeLimitMs: 60_000,
  killGraceMs: 0,
  outputLimitBytes: 5,
};

const jobOf = (spec: Parameters<typeof create<typeof JobSpecSchema>>[1]) => ({
  spec: toBinary(JobSpecSchema, create(JobSpecSchema, spec)),
  submittedAtMs: 1_234,
  arraySize: 9,
});

const lowerOf = (over: Partial<RunRequest> = {}, site: Partial<typeof SITE> = {}) =>
  readLowerSpec(toLowerSpec({ ...REQUEST, ...over }, { ...SITE, ...site }));

describe("the job below", () => {
  test("of a share has its energy, and the requested limits of shares, where the energy is large enough", () => {
    const energy = { wattSeconds: 4_000n, leastShare: 250n, greatestShare: 900n, split: "spread" };
    const job = jobOf({ energy, retries: { max: 2 } });
    const share = { job, arrayIndex: undefined, work: { kind: "script", text: "" } } as const;
    const needs = { cpu: 500, "power-share": 1 };
    const env = { BUSBAR_SHARE_WATT_SECONDS: "600" };
    const spec = lowerOf({ ...share, needs, env, shareWattSeconds: 600 });
    expect(spec.energy).toMatchObject({ ...energy, wattSeconds: 600n });
    expect(spec).toMatchObject({ command: [], resources: { cpu: 0.5 } });
    expect([spec.script, spec.array, spec.retries]).toEqual([undefined, undefined, undefined]);
    expect(spec.labels["busbar.origin.task"]).toBe("17.3");
    expect(spec.env).toMatchObject({ BUSBAR_ORIGIN_TASK_ID: "17.3" });
    expect(spec.env["BUSBAR_SHARE_WATT_SECONDS"]).toBeUndefined(); // of the site's own shares
    const small = lowerOf({ ...share, needs, shareWattSeconds: 100 });
    expect(small.energy).toMatchObject({ wattSeconds: 100n, leastShare: 100n });
  });

  test("has all fields of the job above, except those that the Busbar above decides", () => {
    const job = jobOf({
      group: "physics",
      labels: { paper: "7" },
      comment: "for the paper",
      priority: 4,
      nice: 5,
      array: "0-8",
      retries: { max: 3 },
      placement: { cluster: "site-a", labels: { disk: "ssd" } },
      queueDeadlineMs: 5n,
      beginAtMs: 99n,
      dependsOn: [{ on: ["1"] }],
      select: { strategy: "first" },
      resources: { cpu: 7 },
    });
    const { $typeName: _, placement, ...spec } = lowerOf({ job });
    expect(placement).toMatchObject({ kind: "any", labels: {} });
    expect(placement?.cluster).toBeUndefined();
    expect(spec).toEqual({
      name: "sweep",
      group: "upstream",
      labels: {
        paper: "7",
        "busbar.origin": "site-a",
        "busbar.origin.task": "17.3",
        "busbar.origin.path": "f1",
      },
      comment: "for the paper",
      priority: 4,
      nice: 5,
      array: "3",
      command: [],
      args: [],
      entries: [],
      containers: [],
      mounts: [],
      script: "exit 1",
      env: {
        A: "1",
        BUSBAR_ORIGIN_JOB_ID: "17",
        BUSBAR_ORIGIN_TASK_ID: "17.3",
        BUSBAR_ORIGIN_ATTEMPT: "2",
        BUSBAR_ORIGIN_CLUSTER: "site-a",
        BUSBAR_ORIGIN_ARRAY_SIZE: "9",
      },
      cwd: "/data",
      resources: { cpu: 0.5, memory: 1_024 },
      timeLimitMs: 60_000n,
      killGraceMs: 0n,
      outputLimitBytes: 5n,
      dependsOn: [],
    });
  });

  test("keeps fields that this agent does not know", () => {
    const unknown = [0xf8, 0x3f, 0x07]; // field 1023, a number: 7
    const spec = Buffer.concat([jobOf({}).spec, Buffer.from(unknown)]);
    const text = toLowerSpec({ ...REQUEST, job: { ...jobOf({}), spec } }, SITE);
    expect(Buffer.from(text, "base64").includes(Buffer.from(unknown))).toBe(true);
  });

  test("requests parts of a graph, or amounts, not both", () => {
    const request = [[]];
    expect(lowerOf({ request, job: jobOf({ resources: { cpu: 1 } }) })).toMatchObject({
      request: "[[]]",
      resources: {},
    });
    expect(lowerOf().request).toBeUndefined();
  });

  test("goes to one cluster of the site if the site is configured so", () => {
    expect(lowerOf({}, { below: "gpu" as never }).placement).toMatchObject({ cluster: "gpu" });
  });

  test("names its job on the first Busbar, however many sites it came through", () => {
    const first = lowerOf();
    const job = jobOf({ labels: first.labels });
    const second = lowerOf({ env: first.env, job }, { cluster: "site-b", fingerprint: "f2" });
    expect(second.env).toEqual(first.env);
    expect(second.labels).toMatchObject({
      "busbar.origin": "site-b",
      "busbar.origin.path": "f1,f2",
    });
  });
});

describe("sites below each other", () => {
  test("a job that was here before is rejected", () => {
    const job = jobOf({ labels: { "busbar.origin.path": "f0,f1,f2" } });
    expect(() => lowerOf({ job })).toThrow(/passed through site site-a/);
  });

  test("a job may pass through a bounded number of sites", () => {
    const through = (hops: number) =>
      jobOf({
        labels: { "busbar.origin.path": Array.from({ length: hops }, (_, at) => `x${at}`).join() },
      });
    expect(() => lowerOf({ job: through(limits.siteHopsMax - 1) })).not.toThrow();
    expect(() => lowerOf({ job: through(limits.siteHopsMax) })).toThrow(
      `${limits.siteHopsMax} sites`,
    );
  });
});

test("the key of a submission names run, site and server above", () => {
  const key = idempotencyKeyOf({ ...REQUEST, job: jobOf({}) }, SITE);
  expect(key).toBe("busbar:f1:site-a:17.3.2:1234");
});
