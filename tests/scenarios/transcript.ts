import { credentialKey } from "../../src/core/model/credential.ts";
import type { DependencyInput } from "../../src/core/model/job/dependency.ts";
import { groupId, jobId, nodeId, parseTaskId } from "../../src/core/model/ids.ts";
import type { JobSpecInput } from "../../src/core/model/job/job-spec.ts";
import type { Quarantine } from "../../src/core/model/node/node.ts";
import type { NodeFacts } from "../../src/core/model/node/node-facts.ts";
import { NO_FACTS } from "../../src/core/model/node/node-facts.ts";
import type { Change } from "../../src/core/state/change.ts";
import type { RunRef } from "../../src/core/state/command.ts";
import { describeWaiting } from "../../src/core/state/dependencies/describe.ts";
import type { JobRecord } from "../../src/core/state/jobs/job-record.ts";
import { percentOf } from "../../src/core/model/progress.ts";
import { taskTotalOf } from "../../src/core/model/job/job.ts";
import { AppError } from "../../src/lib/errors.ts";
import { parseDurationMs } from "../../src/lib/units.ts";
import { limits } from "../../src/limits.ts";
import { aHello, aSpec } from "../../src/testing/builders.ts";
import { World } from "../../src/testing/world.ts";
import { type Options, serviceVerbs, type Verbs } from "./service-verbs.ts";

export interface Step {
  readonly line: string;
  readonly want: string;
}

/** Splits a transcript: a line of input, "----", the expected lines, an empty line. */
export function parseTranscript(text: string): Step[] {
  const steps: Step[] = [];
  for (const block of text.split("\n\n")) {
    const lines = block.split("\n").filter((line) => !line.startsWith("#") && line !== "");
    const [line, rule, ...want] = lines;
    if (line === undefined) continue;
    if (rule !== "----") throw new Error(`transcript: no ---- after "${line}"`);
    steps.push({ line, want: want.join("\n") });
  }
  return steps;
}

/** Runs the steps in one world; prints the changes of each. */
export function runTranscript(steps: readonly Step[]): string[] {
  const world = new World();
  return steps.map(({ line }) => {
    const before = world.changes.length;
    try {
      const told = runLine(world, line);
      world.settle();
      const changes = world.changes.slice(before).flatMap((change) => describeChange(change));
      return [...changes, ...told].join("\n") || "nothing";
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return `${error.code}: ${error.message}`;
    }
  });
}

function runLine(world: World, line: string): string[] {
  const words = line.split(" ");
  const [verb = "", ...rest] = words;
  const options: Options = Object.fromEntries(
    rest.filter((word) => word.includes("=")).map((word) => word.split("=", 2) as [string, string]),
  );
  const names = rest.filter((word) => !word.includes("="));
  const run = verbs[verb];
  if (run === undefined) throw new Error(`transcript: unknown verb in "${line}"`);
  return run(world, names, options) ?? [];
}

let session = 0;

const factsWith = (os: string): NodeFacts => ({
  ...NO_FACTS,
  cores: 1_000,
  software: { os: [{ name: os }] },
});

const verbs: Verbs = {
  node(world, [name = ""], options) {
    const { cpu = "4", boot = "boot-1", key = name, runs = "", os, sick, ...labels } = options;
    const answer = world.do({
      kind: "connect-node",
      ...aHello(name, {
        capacity: { cpu: Number(cpu) * 1_000 },
        bootId: boot,
        agentKeyHash: key,
        labels,
        sickness: sick,
        runs: runs === "" ? [] : runs.split(",").map(parseRun),
        facts: os === undefined ? undefined : factsWith(os),
        session: ++session,
        nowMs: world.nowMs,
      }),
    });
    return told(answer);
  },
  facts(world, [name = ""], { os = "", session: given }) {
    const link = world.state.nodes.get(nodeId(name))?.node.link;
    const current = link?.kind === "connected" ? link.session : 0;
    const number = given === "old" ? current - 1 : current;
    world.do({
      kind: "put-facts",
      nodeId: nodeId(name),
      session: number,
      facts: factsWith(os),
    });
    return undefined;
  },
  submit(
    world,
    [name = ""],
    { cpu, array, priority, retries, group, deadline, key, node, backoff, restart, reset },
  ) {
    const [one] = world.do({
      kind: "submit-jobs",
      submissions: [
        {
          spec: aSpec({
            name,
            array,
            group,
            resources: cpu === undefined ? undefined : { cpu: Number(cpu) },
            priority: priority === undefined ? undefined : Number(priority),
            retries:
              retries === undefined
                ? undefined
                : {
                    max: Number(retries),
                    backoffMs: backoff === undefined ? 1_000 : Number(backoff),
                  },
            queueDeadlineMs:
              deadline === undefined ? undefined : parseDurationMs(deadline, "deadline"),
            placement: node === undefined ? undefined : { node },
            service:
              restart === undefined
                ? undefined
                : { restart, resetAfterMs: reset === undefined ? undefined : Number(reset) },
          }),
          idempotencyKey: key,
        },
      ],
      by: "test",
      nowMs: world.nowMs,
    });
    return one?.existed === true ? [`job ${one.id} existed`] : [];
  },
  /** Several jobs at once: "a b(ok:a) c(any/2:a,b,4;single:x) d[0-3]". */
  graph(world, words, { deadline }) {
    const queueDeadlineMs =
      deadline === undefined ? undefined : parseDurationMs(deadline, "deadline");
    const submissions = words.map((word) => ({
      spec: aSpec({ ...parseNode(word), queueDeadlineMs }),
      idempotencyKey: undefined,
    }));
    world.do({ kind: "submit-jobs", submissions, by: "test", nowMs: world.nowMs });
    return undefined;
  },
  /** Why a job is pending, or why it was closed. */
  why(world, [id = ""]) {
    const { jobs, holds } = world.state;
    const hold = holds.get(jobId(Number(id)));
    if (hold !== undefined) return [describeWaiting(jobs, holds, hold)];
    return [jobs.get(jobId(Number(id)))?.job.closed?.reason ?? "waits for nothing"];
  },
  ...serviceVerbs,
  restart(world) {
    world.restart();
    return undefined;
  },
  plan(world, [max]) {
    world.plan(max === undefined ? undefined : Number(max));
    return undefined;
  },
  started(world, [run = "", node = ""]) {
    return told(world.report(node, refOf(run)));
  },
  /** Reported by the agent of a node, or with "-" by a caller. */
  progress(world, [run = "", node = "", percent = "", ...words]) {
    const by = node === "-" ? undefined : node;
    const progress = { percent: Number(percent), message: words.join(" ") };
    return [world.progress(by, refOf(run), progress)];
  },
  exited(world, [run = "", node = "", code = "0"], { ran = "0s" }) {
    return told(world.report(node, refOf(run), Number(code), parseDurationMs(ran, "ran")));
  },
  /** Jobs of one task each that are placed on the node and end there at once. */
  all(world, [node = "", code = "0", ...names]) {
    for (const name of names) {
      const submissions = [
        { spec: aSpec({ name, placement: { node } }), idempotencyKey: undefined },
      ];
      const [one] = world.do({ kind: "submit-jobs", submissions, by: "test", nowMs: world.nowMs });
      world.plan();
      world.report(node, [one?.id ?? 0, 0, 1], Number(code));
      world.settle();
    }
    return undefined;
  },
  /** The node could not start it. */
  returned(world, [run = "", node = "", why = "disk-full"]) {
    return told(world.report(node, refOf(run), { kind: "node-fault", message: why }));
  },
  sick(world, [name = "", sickness], { session: given }) {
    const link = world.state.nodes.get(nodeId(name))?.node.link;
    const current = link?.kind === "connected" ? link.session : 0;
    const number = given === "old" ? current - 1 : current;
    const { nowMs } = world;
    const health = { nodeId: nodeId(name), session: number, sickness, nowMs };
    world.do({ kind: "report-health", ...health });
    return undefined;
  },
  cancel(world, [id = ""]) {
    world.do({
      kind: "cancel-job",
      ...parseTaskId(id, "id"),
      reason: "asked to",
      by: "test",
      nowMs: world.nowMs,
    });
    return undefined;
  },
  disconnect(world, [name = ""]) {
    const link = world.state.nodes.get(nodeId(name))?.node.link;
    const number = link?.kind === "connected" ? link.session : 0;
    const { nowMs } = world;
    world.do({ kind: "disconnect-node", nodeId: nodeId(name), session: number, nowMs });
    return undefined;
  },
  drain(world, [name = ""]) {
    const drain = { reason: "repair" };
    world.do({ kind: "drain-node", nodeId: nodeId(name), drain });
    return undefined;
  },
  undrain(world, [name = ""]) {
    world.do({ kind: "drain-node", nodeId: nodeId(name), drain: undefined });
    return undefined;
  },
  remove(world, [name = ""]) {
    world.do({ kind: "remove-node", nodeId: nodeId(name), nowMs: world.nowMs });
    return undefined;
  },
  group(world, [name = ""], { weight, running, queued }) {
    world.do({
      kind: "put-group",
      id: groupId(name),
      ...(weight === undefined ? {} : { weight: Number(weight) }),
      runningTasksMax: running === undefined ? undefined : Number(running),
      queuedTasksMax: queued === undefined ? undefined : Number(queued),
    });
    return undefined;
  },
  recover(world) {
    world.do({ kind: "recover", nowMs: world.nowMs, lastJobId: jobId(0) });
    return undefined;
  },
  wait(world, [duration = ""], { keep = "1000000", age = "7h" }) {
    world.nowMs += parseDurationMs(duration, "wait");
    const settings = {
      nodeLostAfterMs: limits.nodeLostAfterMs,
      finishedTasksMax: Number(keep),
      finishedAgeMsMax: parseDurationMs(age, "age"),
    };
    world.do({ kind: "tick", nowMs: world.nowMs, settings });
    return undefined;
  },
  job(world, [id = ""]) {
    const record = world.state.jobs.get(jobId(Number(id)));
    if (record === undefined) return ["no such job"];
    const { state, counts } = record.progress;
    const some = Object.entries(counts).filter(([, count]) => count > 0);
    const far = record.progress.tasksWithProgress === 0 ? "" : `, ${percentIn(record)} %`;
    return [`${state}: ${some.map(([name, count]) => `${count} ${name}`).join(", ")}${far}`];
  },
};

const percentIn = ({ progress, job }: JobRecord): number =>
  percentOf(progress, taskTotalOf(job.spec));

const KINDS: Options = { ok: "afterok", any: "afterany", notok: "afternotok", after: "after" };

function parseNode(word: string): Partial<JobSpecInput> {
  const [, name = "", array, needs] = /^([^[(]+)(?:\[(.*)\])?(?:\((.*)\))?$/.exec(word) ?? [];
  return {
    name,
    array,
    ...(needs === undefined ? {} : { dependsOn: needs.split(";").map(parseNeed) }),
  };
}

function parseNeed(text: string): DependencyInput {
  const [, kind = "", least, on = ""] = /^(\w+)(?:\/(\d+))?:(.*)$/.exec(text) ?? [];
  if (kind === "single") return { kind: "singleton", name: on };
  return {
    kind: KINDS[kind] ?? kind,
    on: on.split(","),
    atLeast: least === undefined ? undefined : Number(least),
  };
}

/** "1.0#2": job, index, attempt. */
function refOf(text: string): [number, number, number] {
  const [, job, index, attempt] = /^(\d+)\.(\d+)#(\d+)$/.exec(text) ?? [];
  return [Number(job), Number(index), Number(attempt)];
}

function parseRun(text: string): RunRef {
  const [job, index, attempt] = refOf(text);
  return { jobId: jobId(job), index, attempt };
}

const formatRun = ({ jobId: id, index, attempt }: RunRef): string => `${id}.${index}#${attempt}`;

const told = (answer: {
  readonly starts?: readonly RunRef[];
  readonly stops: readonly RunRef[];
}): string[] => [
  ...(answer.starts ?? []).map((run) => `agent: start ${formatRun(run)}`),
  ...answer.stops.map((run) => `agent: stop ${formatRun(run)}`),
];

function describeQuarantine(quarantine: Quarantine | undefined): string {
  if (quarantine === undefined) return "";
  const { strikes, phase } = quarantine;
  const until = phase.kind === "closed" ? ` until ${phase.untilMs}` : "";
  const by = phase.kind === "trial" ? ` by ${formatRun(phase)}` : "";
  return `, quarantined (${strikes}): ${phase.kind}${until}${by}`;
}

function describeChange(change: Change): string[] {
  if (change.table === "credential") {
    const id = "removed" in change ? change.removed : change.row.id;
    return [`credential ${credentialKey(id)} ${"removed" in change ? "removed" : "written"}`];
  }
  if (change.table === "door" && "row" in change) return [`record ${change.row.id} written`];
  if (change.table === "nexus" && "row" in change) return [`note of ${change.row.id} written`];
  if ("removed" in change) return [`${change.table} ${change.removed} removed`];
  switch (change.table) {
    case "job": {
      const { id, spec, closed, waitsFor } = change.row;
      if (closed?.kind === "skipped") return [`job ${id} skipped: ${closed.reason}`];
      if (closed !== undefined) return [`job ${id} ${closed.kind}`];
      if (waitsFor !== undefined) return [`job ${id} waits (${spec.name})`];
      return [
        `job ${id} ${spec.dependsOn === undefined ? "submitted" : "released"} (${spec.name})`,
      ];
    }
    case "task": {
      const { jobId: id, index, attempt, state, progress } = change.row;
      const far = progress && `, ${`${progress.percent} % ${progress.message}`.trim()}`;
      const where = "nodeId" in state && state.nodeId !== undefined ? ` on ${state.nodeId}` : "";
      const until = state.kind === "waiting" ? ` until ${state.notBeforeMs}` : "";
      const isLost = state.kind === "failed" && state.failure.kind === "lost";
      const message = isLost ? `: ${state.failure.message}` : "";
      const why = state.kind === "failed" ? ` (${state.failure.kind}${message})` : "";
      return [`task ${id}.${index}#${attempt} ${state.kind}${where}${until}${why}${far ?? ""}`];
    }
    case "node": {
      const { id, link, drain, sickness, quarantine } = change.row;
      const sick = sickness && `, unhealthy since ${sickness.sinceMs}: ${sickness.reason}`;
      const drained = drain === undefined ? "" : ", draining";
      return [`node ${id} ${link.kind}${drained}${sick ?? ""}${describeQuarantine(quarantine)}`];
    }
    case "service": {
      const { id, replicas, template, rollout, removal } = change.row;
      const how = removal === undefined ? rollout.kind : "removing";
      const why = rollout.kind === "stopped" ? `: ${rollout.reason}` : "";
      return [`service ${id} wants ${replicas} of generation ${template.generation}, ${how}${why}`];
    }
    case "slot": {
      const { id, jobId: job, generation, isRemoved, isReplaced, ended } = change.row;
      const parts = [isReplaced && ", is replaced", isRemoved && ", is removed"];
      const end =
        ended && `, ended for good: ${ended.state}${ended.reason ? ` (${ended.reason})` : ""}`;
      return [
        `slot ${id} of generation ${generation} has job ${job}${[...parts, end].filter(Boolean).join("")}`,
      ];
    }
    case "leftover":
      return [`rows of job ${change.row.id} go later`];
    case "group":
      return [`group ${change.row.id} weight ${change.row.weight}`];
    case "facts": {
      const { id, facts } = change.row;
      const software = Object.entries(facts.software).map(
        ([name, entries]) => `${name} ${entries.map((entry) => entry["name"]).join(" ")}`,
      );
      return [`facts ${id} cores ${facts.cores}, ${software.join(", ")}`];
    }
    case "cluster":
    case "graph":
    case "subsystem":
    case "declared":
    case "status":
    case "counter":
      return [];
  }
}
