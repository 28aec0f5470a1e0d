import type { Jobspec } from "../../core/jobspec/model.ts";
import { parseJobspec } from "../../core/jobspec/read/parse.ts";
import type { WorkloadStep } from "../../core/jobspec/write/to-steps.ts";
import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { RunRequest } from "../../ports/executor.ts";
import type { LowerRunTerms, StepTerms } from "./run.ts";
import type { LowerShape } from "./scheduler.ts";
import { shapeOfRun } from "./shape-of-run.ts";

/** Converts a jobspec to jobs; throws AppError for one that cannot run. */
export type ToSteps = (jobspec: Jobspec) => readonly WorkloadStep[];

/** One step of a run, with all defaults filled in. */
export interface LowerStep {
  readonly terms: StepTerms;
  readonly work: Exclude<RunRequest["work"], { kind: "jobspec" | "workload" }>;
  /** Words to put before each of its processes. */
  readonly before?: readonly string[];
  /** Each process of the shape runs the command, or it runs once and starts the others by itself. */
  readonly launch: "each-process" | "once";
  readonly env: Readonly<Record<string, string>>;
  /** undefined: a directory that all steps of the run share. */
  readonly cwd: string | undefined;
  readonly timeLimitMs: number | undefined;
  readonly shape: LowerShape;
}

/** A run as jobs of the scheduler below, each one after its dependencies. */
export function planRun(request: RunRequest, toSteps: ToSteps): readonly LowerStep[] {
  const { work, before = [], env, cwd, timeLimitMs } = request;
  if (work.kind === "jobspec") return planJobspec(request, toSteps(parseJobspec(work.text)));
  if (work.kind === "workload") {
    throw invalid("workload", "this scheduler cannot run instances of workloads");
  }
  if (work.kind === "command" && work.argv.length === 0) {
    throw invalid("command", "there is no program to run");
  }
  const program = work.kind === "command" ? (work.argv[0] ?? "") : "the script";
  const terms = {
    name: request.name,
    program: program.slice(0, PROGRAM_LENGTH_MAX),
    after: [],
    copies: undefined,
  };
  const launch = "each-process";
  return [{ terms, work, before, launch, env, cwd, timeLimitMs, shape: shapeOfRun(request) }];
}

const PROGRAM_LENGTH_MAX = 200; // in messages

function planJobspec(request: RunRequest, steps: readonly WorkloadStep[]): readonly LowerStep[] {
  if (steps.length > limits.lowerStepsMax) {
    throw invalid("jobspec", `at most ${limits.lowerStepsMax} tasks, not ${steps.length}`);
  }
  const placeOf = new Map(steps.map(({ name }, at) => [name, at]));
  return steps.map((step, at) => {
    const { name, script, launch, shape, copies } = step;
    if (copies > limits.lowerStepCopiesMax) {
      throw invalid(name, `at most ${limits.lowerStepCopiesMax} copies, not ${copies}`);
    }
    const after = step.after.map((other) => placeOf.get(other) ?? at);
    if (after.some((place) => place >= at)) {
      throw invalid(name, "must come after the tasks it depends on");
    }
    return {
      terms: { name, program: name, after, copies: copies > 1 ? copies : undefined },
      work: { kind: "script", text: script },
      before: request.before ?? [],
      launch,
      // A step cannot override the variables that describe the run.
      env: { ...request.env, ...step.env, ...ownVariables(request.env) },
      cwd: step.cwd ?? request.cwd,
      timeLimitMs: step.timeLimitMs ?? request.timeLimitMs,
      shape,
    };
  });
}

const ownVariables = (env: RunRequest["env"]): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith("BUSBAR_")));

export function termsOf(
  request: RunRequest,
  steps: readonly LowerStep[],
  acceptedAtMs: number,
): LowerRunTerms {
  const { timeLimitMs, killGraceMs, outputLimitBytes } = request;
  return {
    acceptedAtMs,
    timeLimitMs,
    killGraceMs,
    outputLimitBytes,
    steps: steps.map(({ terms }) => terms),
  };
}
