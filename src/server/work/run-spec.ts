import { create } from "@bufbuild/protobuf";
import type { Job } from "../../core/model/job/job.ts";
import { taskTotalOf } from "../../core/model/job/job.ts";
import type { RunSpec } from "../../gen/busbar/v1/agent_pb.ts";
import { RunSpecSchema } from "../../gen/busbar/v1/agent_pb.ts";

/** About how many characters a spec takes on the wire; each takes one to three bytes. */
export function charsOf({ spec: { work, env } }: Job): number {
  let size = 256;
  if (work.kind !== "command") size += work.text.length;
  else for (const argument of work.argv) size += argument.length + 4;
  for (const name in env) size += name.length + (env[name]?.length ?? 0) + 8;
  return size;
}

export function toRunSpec({ id, spec }: Job, isForCluster: boolean): RunSpec {
  return create(RunSpecSchema, {
    job: id,
    jobName: spec.name,
    group: spec.group,
    ...(spec.work.kind === "command"
      ? { argv: [...spec.work.argv] }
      : { [spec.work.kind]: spec.work.text }),
    needs: { ...spec.needs }, // enforced by the agent
    // A node was chosen by it; who speaks for a cluster hands it on to its scheduler.
    ...(isForCluster && spec.request && { request: JSON.stringify(spec.request) }),
    env: { ...spec.env },
    cwd: spec.cwd ?? "",
    timeLimitMs: spec.timeLimitMs ?? 0,
    killGraceMs: spec.killGraceMs,
    outputLimitBytes: spec.outputLimitBytes,
    nice: spec.terms.nice ?? 0,
    arraySize: spec.array === undefined ? 0 : taskTotalOf(spec),
  });
}
