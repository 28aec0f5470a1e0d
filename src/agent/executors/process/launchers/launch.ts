import { join } from "node:path";

import { parseJobspec } from "../../../../core/jobspec/read/parse.ts";
import { toDriverScript } from "../../../../core/jobspec/write/to-driver-script.ts";
import type { RunRequest } from "../../../../ports/executor.ts";
import { withContainers } from "../../../runs/containers/pod-containers.ts";
import type { RunContainers } from "../../../runs/containers/run-containers.ts";
import { placeOf, programOf } from "../../../runs/command-outcome.ts";
import { checkWorkingDirectory } from "../../../runs/place/surroundings.ts";
import type { Enforcement } from "../cgroups/enforcement.ts";
import { processLimitsOf } from "../cgroups/enforcement.ts";
import type { GroupTerms, ProcessRunTerms } from "../run.ts";
import type { GroupPlan } from "../cgroups/run-groups.ts";
import { runKey } from "../../../runs/run-key.ts";
import type { AttachedRuns } from "../attach/attached-runs.ts";
import type { Launch } from "./starter.ts";
import { PROGRESS_FILE_VARIABLE } from "../../../runs/progress/progress-files.ts";
import { RUN_VARIABLE } from "../../../runs/run-variable.ts";

export interface LaunchPlace {
  readonly directory: string;
  /** See runTagOf. */
  readonly tag: string;
  readonly group: GroupPlan | undefined;
  readonly enforcement: Enforcement;
  /** The file in which it may report its progress. */
  readonly progressFile: string;
  /** For runs in containers; undefined: this executor has none. */
  readonly containers: RunContainers | undefined;
  readonly attached: Pick<AttachedRuns, "wordsBefore">;
}

/** The launch of a run in `directory`. Throws an Error whose message is for people. */
export function launchOf(asked: RunRequest, at: LaunchPlace): Launch {
  const { directory, tag, group, enforcement, progressFile } = at;
  const request = withContainers(asked);
  if (request.container !== undefined) return containedLaunchOf(request, at);
  const limits = processLimitsOf(enforcement, request.needs);
  const { cwd } = request;
  if (cwd !== undefined) checkWorkingDirectory(cwd);
  const key = runKey(request.id);
  const env = {
    ...request.env,
    [RUN_VARIABLE]: `${tag}.${key}`,
    [PROGRESS_FILE_VARIABLE]: progressFile,
  };
  const common = {
    key,
    directory,
    env,
    cwd,
    ...(group && { group: { path: group.terms.path, writes: group.writes } }),
    ...(limits && { limits }),
  };
  const work = hereOf(request.work);
  const before = at.attached.wordsBefore(request, key);
  if (work.kind === "script") {
    const path = join(directory, "script");
    const argv = work.text.startsWith("#!") ? [path] : ["/bin/sh", path];
    return { ...common, argv: [...before, ...argv], script: work.text };
  }
  if (work.argv.length === 0) throw new Error("there is no program to run");
  const argv = before.length === 0 ? work.argv : [...before, ...work.argv];
  return { ...common, argv, script: undefined };
}

/** Its variables, its directory and its limits apply to its containers, not to the program that starts them. */
function containedLaunchOf(request: RunRequest, at: LaunchPlace): Launch {
  const { containers, progressFile } = at;
  if (containers === undefined) throw new Error("this agent starts no containers");
  const { container: _, ...bare } = request;
  const outer = { ...bare, work: NOTHING, env: {}, cwd: undefined, before: [] };
  const { limits, ...launch } = launchOf(outer, at);
  const { key, env } = launch;
  const argv = containers.commandOf({ key, request, env, progressFile, limits });
  return { ...launch, argv: [...(request.before ?? []), ...argv] };
}

const NOTHING = { kind: "command", argv: ["/bin/sh"] } as const;

/** A jobspec runs here as one script, which starts all of its tasks as processes of the run. */
function hereOf(
  work: RunRequest["work"],
): Exclude<RunRequest["work"], { kind: "jobspec" | "workload" }> {
  if (work.kind === "workload") throw new Error("an instance of a workload has containers");
  if (work.kind !== "jobspec") return work;
  return { kind: "script", text: toDriverScript(parseJobspec(work.text)) };
}

export function termsOf(
  request: RunRequest,
  startedAtMs: number,
  group: GroupTerms | undefined,
): ProcessRunTerms {
  const { timeLimitMs, killGraceMs, outputLimitBytes } = request;
  const program = programOf(request);
  const lookedIn = placeOf(request);
  return {
    program,
    ...(lookedIn !== undefined && { lookedIn }),
    startedAtMs,
    timeLimitMs,
    killGraceMs,
    outputLimitBytes,
    ...(isInOwnDirectory(request) && { ownDirectory: true }),
    ...(isByOwnShell(request) && { ownShell: true }),
    ...(group === undefined ? {} : { group }),
  };
}

const isInOwnDirectory = ({ cwd, container }: RunRequest): boolean =>
  cwd === undefined || container !== undefined;

/** Every machine has /bin/sh; where it is missing the work is not to blame. */
function isByOwnShell({ work, container }: RunRequest): boolean {
  if (container !== undefined) return true;
  if (work.kind === "command") return work.argv[0] === "/bin/sh";
  return (
    work.kind === "jobspec" ||
    !work.text.startsWith("#!") ||
    /^#! *\/bin\/sh[ \t\n]/.test(work.text)
  );
}
