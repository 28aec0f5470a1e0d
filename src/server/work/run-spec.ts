import { create, toBinary } from "@bufbuild/protobuf";
import type { ContainerTerms } from "../../core/model/job/containers/containers.ts";
import { charsOf as charsOfWork } from "../../core/model/job/env.ts";
import type { Job, JobSpec } from "../../core/model/job/job.ts";
import { taskTotalOf } from "../../core/model/job/job.ts";
import type { RunSpec } from "../../gen/busbar/v1/agent_pb.ts";
import { ContainerSpecSchema, RunSpecSchema } from "../../gen/busbar/v1/agent_pb.ts";
import { JobSpecSchema } from "../../gen/busbar/v1/busbar_pb.ts";
import { fromJson } from "../../wire/read-json.ts";
import { showSpec } from "../views/show.ts";

/** About how many characters a spec takes on the wire; each takes one to three bytes. */
export function charsOf({ spec: { work, env, container, entries } }: Job): number {
  let size = 256;
  for (const entry of entries ?? []) size += entry.length + 4;
  if (work.kind === "script") for (const arg of work.args ?? []) size += arg.length + 4;
  if (container !== undefined) size += charsOfContainers(container);
  if (work.kind !== "command") size += work.text.length;
  else for (const argument of work.argv) size += argument.length + 4;
  for (const name in env) size += name.length + (env[name]?.length ?? 0) + 8;
  return size;
}

function charsOfContainers({ image = "", containers, mounts }: ContainerTerms): number {
  let size = image.length;
  for (const { source, target } of mounts) size += source.length + target.length + 8;
  for (const each of containers) {
    size += each.image.length + each.name.length + 16 + charsOfWork(each.command, each.env);
    size += 8 * (each.command.length + Object.keys(each.env).length);
  }
  return size;
}

/** An agent of a node, of a cluster, or of a cluster that is another Busbar. */
export type SpecReader = "node" | "cluster" | "busbar";

export function toRunSpec({ id, spec, submittedAtMs }: Job, reader: SpecReader): RunSpec {
  const { work, terms } = spec;
  const textOf = (kind: typeof work.kind): string =>
    work.kind === kind && work.kind !== "command" ? work.text : "";
  // All fields are named: the library's `create`, which fills in the others one by one, takes several times as long.
  return {
    $typeName: RunSpecSchema.typeName,
    job: id,
    jobName: spec.name,
    group: spec.group,
    argv: work.kind === "command" ? [...work.argv] : [],
    script: textOf("script"),
    jobspec: textOf("jobspec"),
    workload: textOf("workload"),
    args: work.kind === "script" ? [...(work.args ?? [])] : [],
    entries: [...(spec.entries ?? [])],
    needs: { ...spec.needs }, // enforced by the agent
    // The planner chose the node by it; an agent of a cluster passes it on to its scheduler.
    request: reader !== "node" && spec.request !== undefined ? JSON.stringify(spec.request) : "",
    env: { ...spec.env },
    cwd: spec.cwd ?? "",
    timeLimitMs: spec.timeLimitMs ?? 0,
    killGraceMs: spec.killGraceMs,
    outputLimitBytes: spec.outputLimitBytes,
    nice: terms.nice ?? 0,
    submitDirectory: terms.submitDirectory ?? "",
    submitDirectoryId: terms.submitDirectoryId ?? "",
    stdoutFile: terms.stdoutFile ?? "",
    stderrFile: terms.stderrFile ?? "",
    container: spec.container && create(ContainerSpecSchema, toContainerSpec(spec.container)),
    attach: terms.attach ?? "",
    hangUpMs: terms.hangUpMs ?? 0,
    arraySize: spec.array === undefined ? 0 : taskTotalOf(spec),
    jobSpec: reader === "busbar" ? jobSpecOf(spec) : NO_BYTES,
    submittedAtMs: reader === "busbar" ? submittedAtMs : 0,
  };
}

const NO_BYTES = new Uint8Array();

const toContainerSpec = ({ image = "", containers, mounts, network }: ContainerTerms) => ({
  image,
  containers: containers.map(({ command, env, ...own }) => ({
    ...own,
    command: [...command],
    env: { ...env },
  })),
  mounts: mounts.map((mount) => ({ ...mount })),
  network,
});

/** The spec as a caller would write it, with all its fields. */
function jobSpecOf(spec: JobSpec): Uint8Array {
  const shown = showSpec(spec);
  const {
    command: _command,
    script: _script,
    jobspec: _text,
    workload: _,
    env: _env,
    ...rest
  } = shown;
  return toBinary(JobSpecSchema, fromJson(JobSpecSchema, rest));
}
