import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { RunEnd } from "../../../ports/executor.ts";
import { bundlePath, failurePath, type PreparationFailure, readPlan } from "./container-plan.ts";
import { saysNodeFault } from "./run-program.ts";
import { NOT_PREPARED } from "./scripts.ts";

/**
 * How a run ended, from the exit code of its command and the records of runc, the kernel and the preparer. For a program that
 * a signal ended runc reports 128 plus its number: it looks the same as a program that exits with that code.
 */
export function endOfContainers(runDirectory: string, states: string, end: RunEnd): RunEnd {
  if (end.kind !== "exited" || end.exitCode === 0) return end;
  const { exitCode } = end;
  const failure = readJson(failurePath(runDirectory)) as PreparationFailure | undefined;
  if (exitCode === NOT_PREPARED && failure !== undefined) return failure;
  if (exitCode === NOT_PREPARED && !existsSync(join(bundlePath(runDirectory, 0), "config.json"))) {
    return { kind: "node-fault", message: "its containers could not be prepared" };
  }
  const { containers, needs, means } = readPlan(runDirectory);
  for (const number of containers.keys()) {
    const said = lastError(join(bundlePath(runDirectory, number), "runc.log"));
    if (said !== undefined) return describeRefusal(said);
  }
  const isKilled = exitCode === 128 + 9;
  if (isKilled && means.memory && containers.some(({ id }) => wasOutOfMemory(states, id))) {
    return { kind: "out-of-memory", ...(needs.memory && { limitBytes: needs.memory }) };
  }
  return end;
}

/** The last error for which runc gave up; undefined: it started the container. */
function lastError(log: string): string | undefined {
  for (const line of readLines(log).toReversed()) {
    try {
      const { level, msg } = JSON.parse(line) as { readonly level?: string; readonly msg?: string };
      if (level === "error" || level === "fatal") return msg ?? "no reason was given";
    } catch {
      continue; // truncated
    }
  }
  return undefined;
}

/** Why runc did not start a container. */
export function describeRefusal(said: string): RunEnd {
  const [, program = "", problem = ""] = /exec: "([^"]*)": (.*)/.exec(said) ?? [];
  if (program !== "") {
    const isMissing = /not found|no such file or directory/.test(problem);
    const what = isMissing ? "not found in image" : "cannot be executed in image";
    return { kind: "could-not-start", message: `program ${what}: ${program}` };
  }
  const why = said.replace(/^runc run failed: /, "").slice(0, 500);
  if (saysNodeFault(said) && !IN_READ_ONLY.test(said)) return { kind: "node-fault", message: why };
  return { kind: "could-not-start", message: `runc refused to start it: ${why}` };
}

/**
 * Inside a container only its own mounts are read-only: a target or a directory is missing there. Where the disk of the node is, the bundle
 * could not have been written.
 */
const IN_READ_ONLY = /container init: .*: read-only file system$/i;

interface ContainerState {
  readonly cgroup_paths?: Readonly<Record<string, string>>;
}

/** From the counters of its control group, which stays until the container is deleted. */
function wasOutOfMemory(states: string, id: string): boolean {
  const state = readJson(join(states, id, "state.json")) as ContainerState | undefined;
  const { memory, "": unified } = state?.cgroup_paths ?? {};
  const files = [
    ...(memory === undefined ? [] : [join(memory, "memory.oom_control")]),
    ...(unified === undefined ? [] : [join(unified, "memory.events")]),
  ];
  return files.some((file) => readLines(file).some((line) => /^oom_kill [1-9]/.test(line)));
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split("\n");
  } catch {
    return [];
  }
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}
