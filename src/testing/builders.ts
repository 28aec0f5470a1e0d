import { toJobSpec } from "../core/model/job/job-spec.ts";
import type { JobSpecInput } from "../core/model/job/job-spec.ts";
import { nodeId } from "../core/model/ids.ts";
import type { JobSpec } from "../core/model/job/job.ts";
import type { NodeHello } from "../core/state/command.ts";

/** A job spec with defaults: `true` on one cpu. */
export const aSpec = (input: Partial<JobSpecInput> = {}): JobSpec =>
  toJobSpec({
    ...(input.script === undefined && input.jobspec === undefined ? { command: ["true"] } : {}),
    ...input,
  });

/** An agent's hello with defaults: 4 cpus, 8 GiB. */
export const aHello = (name: string, hello: Partial<NodeHello> = {}): NodeHello => ({
  nodeId: nodeId(name),
  cluster: "default",
  agentKeyHash: `hash-of-${name}`,
  bootId: "boot-1",
  agentVersion: "test",
  capacity: { cpu: 4_000, memory: 8 * 1024 ** 3 },
  labels: {},
  runs: [],
  session: 1,
  nowMs: 0,
  ...hello,
});
