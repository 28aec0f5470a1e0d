import { type JsonValue, toJson } from "@bufbuild/protobuf";
import type { JobSpec } from "../../client/messages.ts";
import { type Handlers, Refusal } from "../../client/testing/serve.ts";
import {
  SubmitJobspecRequestSchema,
  SubmitJobsRequestSchema,
  TryJobsRequestSchema,
} from "../../gen/busbar/v1/busbar_pb.ts";

interface World {
  submit(command: string[], array: string): string;
  revision(): bigint;
}

const UNSCHEDULABLE =
  "no registered node or cluster can run this job: 1 node: too small. Change the request, add a " +
  "node that fits, or allow it to be queued anyway";

/**
 * Accepts and tries jobs. A jobspec has one task per line: a name and its command. A task that begins with "never" is unsatisfiable; in a
 * trial, "stay" is pending.
 */
export function fakeSubmissions(world: World) {
  const submitted: JsonValue[] = [];
  const tried: JsonValue[] = [];
  const refuseNever = (command: readonly string[], field: string, isAllowed: boolean): void => {
    if (command[0] !== "never" || isAllowed) return;
    const message = `${field}: ${UNSCHEDULABLE}`;
    throw new Refusal("FAILED_PRECONDITION", message, field, "unschedulable");
  };
  // Jobs continue in later turns of the event loop, so nothing has happened to them yet.
  const answer = <Job>(jobs: Job[]) => ({ jobs, revision: world.revision() });
  const handlers: Handlers = {
    submitJobs: (request) => {
      submitted.push(toJson(SubmitJobsRequestSchema, request));
      const jobs = request.jobs.map(({ spec }, at) => {
        if (spec?.name === "refused") {
          throw new Refusal("INVALID_ARGUMENT", "name: is not allowed", "name");
        }
        refuseNever(spec?.command ?? [], `jobs[${at}]`, request.allowUnsatisfiable);
        const warning = spec?.resources["gpu"] === undefined ? undefined : "no node has a gpu";
        return { id: world.submit(spec?.command ?? [], spec?.array ?? ""), warning };
      });
      return answer(jobs);
    },
    submitJobspec: (request) => {
      submitted.push(toJson(SubmitJobspecRequestSchema, request));
      if (request.select?.strategy === "chepest") {
        throw new Refusal("INVALID_ARGUMENT", "jobs[0].select: no such thing", "jobs[0].select");
      }
      const jobs = tasksOf(request.jobspec).map(({ name, command }) => {
        refuseNever(command, name, request.allowUnsatisfiable);
        return { id: world.submit(command, ""), name };
      });
      return answer(jobs);
    },
    tryJobs: (request) => {
      tried.push(toJson(TryJobsRequestSchema, request));
      const { ask } = request;
      const jobs =
        ask.case === "jobspec"
          ? tasksOf(ask.value.jobspec).map(({ name, command }) => trialOf(name, command, 1))
          : (ask.value?.jobs ?? []).map(({ spec }) => trialOfSpec(spec));
      return answer(jobs);
    },
  };
  return { handlers, submitted, tried };
}

const tasksOf = (jobspec: string) =>
  jobspec
    .trim()
    .split("\n")
    .map((line) => {
      const [name = "", ...command] = line.split(" ");
      return { name, command };
    });

const trialOfSpec = (spec: JobSpec | undefined) =>
  trialOf(spec?.name ?? "", spec?.command ?? [], spec?.array === undefined ? 1 : 5);

function trialOf(name: string, [what]: readonly string[], tasks: number) {
  const base = { name, tasks: BigInt(tasks), possible: what !== "never" };
  const waits = {
    reasons: [{ reason: "busy: cpu", nodes: 3, never: what === "never", examples: ["a", "b"] }],
    clusters: [{ cluster: "red", kind: "pulling", verdict: "never", reasons: ["no gpu", "x"] }],
    cheapestChange: "wait for task 7",
    hints: ["start an agent"],
  };
  if (what !== "print") return { ...base, ...waits, waiting: BigInt(tasks) };
  const [first, ...others] = [
    { index: 0, cluster: "default", node: "n1" },
    { index: 1, cluster: "default", node: "n1" },
    { index: 2, cluster: "blue", node: undefined },
  ];
  if (tasks === 1) return { ...base, placements: first === undefined ? [] : [first] };
  const placements = first === undefined ? [] : [first, ...others];
  const full = { clusters: [{ cluster: "default", kind: "managed", verdict: "now" }] };
  return { ...base, ...full, placements, waiting: 1n, untried: 1n };
}
