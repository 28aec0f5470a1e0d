import { describe, expect, test } from "vitest";
import { type JobSpecInput, toJobSpec } from "../../core/model/job/job-spec.ts";
import type { Job } from "../../core/model/job/job.ts";
import { jobId } from "../../core/model/ids.ts";
import { toRunSpec } from "../work/run-spec.ts";
import { showSpec } from "./show.ts";

const aJob: Omit<Job, "spec"> = {
  id: jobId(7),
  submittedAtMs: 1,
  submittedBy: "local",
  idempotencyKey: undefined,
  closed: undefined,
  waitsFor: undefined,
};

/** The spec in the answer to this submission. */
const shown = (input: JobSpecInput) => showSpec(toJobSpec({ command: ["true"], ...input }));

describe("nice", () => {
  test("is a whole number from -20 to 19, and reaches the agent", () => {
    const runSpec = (input: JobSpecInput) =>
      toRunSpec({ ...aJob, spec: toJobSpec({ command: ["true"], ...input }) }, "node");
    for (const nice of [-20, 0, 19]) {
      expect(shown({ nice }).nice).toBe(nice);
      expect(runSpec({ nice }).nice).toBe(nice);
    }
    expect(shown({})).not.toHaveProperty("nice");
    expect(runSpec({}).nice).toBe(0);
    for (const nice of [-21, 20, 0.5]) {
      expect(() => shown({ nice })).toThrow(
        `nice: must be a whole number from -20 to 19, not ${nice}`,
      );
    }
  });
});

describe("comment", () => {
  test("is shown as submitted, and absent where there is none", () => {
    expect(shown({ comment: "for the paper" }).comment).toBe("for the paper");
    expect(shown({})).not.toHaveProperty("comment");
  });

  test("has at most 1024 printable characters", () => {
    expect(shown({ comment: "x".repeat(1_024) }).comment).toHaveLength(1_024);
    expect(() => shown({ comment: "x".repeat(1_025) })).toThrow("comment: at most 1024 characters");
    expect(() => shown({ comment: "a\u001b[2J" })).toThrow("comment: must not have control");
  });
});

describe("images and containers", () => {
  const runSpec = (input: JobSpecInput) => toRunSpec({ ...aJob, spec: toJobSpec(input) }, "node");

  test("are shown as submitted, and reach the agent", () => {
    const image = "oci:/images/tool:1";
    const asked = { image, mounts: [{ source: "/a", target: "/b", writable: true }] };
    expect(shown(asked)).toMatchObject(asked);
    expect(shown(asked)).not.toHaveProperty("placement");
    expect(shown(asked)).not.toHaveProperty("network");
    expect(runSpec({ ...asked, command: ["true"] }).container).toMatchObject({
      ...asked,
      network: "host",
      containers: [],
    });
    expect(runSpec({ command: ["true"] }).container).toBeUndefined();
  });

  test("of several containers each has its own image", () => {
    const containers = [
      { name: "a", image: "a:1", command: ["x"], env: { A: "1" } },
      { name: "b", image: "b:1" },
    ];
    expect(showSpec(toJobSpec({ containers, network: "none" }))).toMatchObject({
      containers,
      network: "none",
    });
    expect(runSpec({ containers }).container).toMatchObject({ image: "", containers });
  });
});

describe("workloads of rik", () => {
  test("are shown without requirements that follow from them, like the port of a Function", () => {
    const execution = { rootfs: "http://images/a.ext4" };
    const exposure = { port: 45_001, targetPort: 8_080, type: "NodePort" };
    const spec = { containers: [], function: { execution, exposure } };
    const workload = JSON.stringify({ apiVersion: "v1", kind: "Function", name: "fn", spec });
    const read = toJobSpec({ workload, service: { restart: "never" } });
    expect(read.where).toMatchObject({ workload: "Function", port: 45_001 });
    expect(showSpec(read)).not.toHaveProperty("placement");
    const placement = { cluster: "blue", labels: { disk: "ssd" } };
    expect(showSpec(toJobSpec({ workload, placement })).placement).toEqual(placement);
  });
});
