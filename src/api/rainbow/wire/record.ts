import { choiceOf } from "../../../core/graph/request/graph-request.ts";
import { flattenTasks } from "../../../core/jobspec/flatten.ts";
import {
  type Jobspec,
  type JobspecTask,
  NO_ATTRIBUTES,
  type NamedResource,
  type Run,
} from "../../../core/jobspec/model.ts";
import { shapeOf } from "../../../core/jobspec/shape.ts";
import { toNextgen } from "../../../core/jobspec/write/to-nextgen.ts";
import { toResources } from "../../../core/model/resources.ts";
import { limits } from "../../../limits.ts";
import type { OfferedTaskView } from "../../../server/views/views.ts";
import type { ReadText } from "../jobspecs/jobspecs.ts";
import { type CommandLine, lineOf, sentWith } from "../translate.ts";

/**
 * A task as rainbow's clients receive it: JSON with the fields that readers of every generation look for. Old ones run `command` on `nodes`
 * and `tasks`, later ones run `jobspec`.
 */
export async function toRecord(
  task: OfferedTaskView,
  { id, cluster }: { readonly id: number; readonly cluster: string },
  read: ReadText,
): Promise<string> {
  const { name, jobspec } = task;
  const text = jobspec ?? JSON.stringify(toNextgen(jobspecOf(task)));
  const line = await lineIn(text, read);
  const record = { id, cluster, name, jobspec: text, ...line };
  const json = JSON.stringify(record);
  // A long command is in the jobspec too, and both may exceed an answer.
  return sizeOf(json) <= limits.receivedBytesMax
    ? json
    : JSON.stringify({ ...record, command: "" });
}

// Without its text: tags, lengths and the number of an entry.
const ENTRY_BYTES = 24;

/** The size of a record in an answer. */
export const sizeOf = (record: string): number => Buffer.byteLength(record) + ENTRY_BYTES;

const NOTHING: CommandLine = { command: "", nodes: 1, tasks: 0 };

/** One plain command, and roughly its request; only the jobspec describes anything else. */
async function lineIn(text: string, read: ReadText): Promise<CommandLine> {
  let jobspec: Jobspec;
  try {
    ({ jobspec } = await read(text));
  } catch {
    return NOTHING; // it came through a door with other rules
  }
  const before = lines.get(jobspec);
  if (before !== undefined) return before;
  const line = lineOfJobspec(jobspec);
  lines.set(jobspec, line);
  return line;
}

/** Texts that were parsed before: many jobs have the same one. */
const lines = new WeakMap<Jobspec, CommandLine>();

function lineOfJobspec(jobspec: Jobspec): CommandLine {
  const sent = sentWith(jobspec);
  if (sent !== undefined) return sent;
  const [only, ...others] = flattenTasks(jobspec);
  if (only === undefined || others.length > 0) return NOTHING;
  const { work, processes, resources } = only.task;
  const isPlain = work.steps.length === 0 && work.run?.kind === "command";
  const argv = isPlain && work.run?.kind === "command" ? work.run.argv : undefined;
  const { slots, nodes, nodesPerSlot, perSlot } = shapeOf(resources[0] ?? []);
  const total = processes.kind === "total" ? processes.count : slots * processes.count;
  return {
    command: lineOf(argv),
    nodes: nodes ?? Math.max(1, slots * nodesPerSlot),
    // The inverse of clients' conversion: tasks are the cores of a node.
    tasks: total > 1 ? total : Math.floor(perSlot.cores / Math.max(1, nodesPerSlot)),
  };
}

/** A task that came through another door, as a jobspec of one task. */
function jobspecOf(task: OfferedTaskView): Jobspec {
  const { name, env, cwd, timeLimitMs, request, resources: amounts } = task.spec;
  const choice = request ?? choiceOf(toResources(amounts, "resources", limits.resourceNamesMax));
  const resources = new Map<string, NamedResource>(
    (choice[0] ?? []).map((request, at) => [
      at === 0 ? "task-resources" : `task-resources-${at + 1}`,
      { at: NOWHERE, request, attributes: NO_ATTRIBUTES, isScheduled: false },
    ]),
  );
  return {
    dialect: "nextgen",
    name,
    attributes: {
      durationMs: timeLimitMs,
      cwd,
      environment: { ...env, ...indexOf(task) },
      extras: {},
    },
    resources,
    requires: new Map(),
    items: [taskOf(task, [...resources.keys()])],
  };
}

const NOWHERE = { line: 1, column: 1 } as const;

function taskOf(
  { spec: { command, script } }: OfferedTaskView,
  names: readonly string[],
): JobspecTask {
  const run: Run =
    command === undefined
      ? { kind: "script", text: script ?? "" }
      : { kind: "command", argv: command };
  return {
    kind: "task",
    name: "task",
    path: "task",
    at: NOWHERE,
    asks: names.length === 0 ? undefined : [names],
    resources: [],
    requires: undefined,
    dependsOn: [],
    attributes: NO_ATTRIBUTES,
    work: { scripts: [], steps: [], run },
    replicas: 1,
    processes: { kind: "total", count: 1 },
    isLocal: names.length === 0,
  };
}

/** The variables that describe a task of an array to itself on nodes with agents. */
const indexOf = ({ id }: OfferedTaskView): Readonly<Record<string, string>> =>
  id.includes(".") ? { BUSBAR_ARRAY_INDEX: id.slice(id.indexOf(".") + 1) } : {};
