import { AppError } from "../../../lib/errors.ts";
import { quote } from "../read/reader.ts";
import { effectiveAttributes } from "../attributes.ts";
import type { Attributes, Jobspec, JobspecTask, Plain } from "../model.ts";
import { shapeOf } from "../shape.ts";
import { firstOf } from "./to-busbar.ts";
import { argvOf } from "./work-script.ts";

type PlainMap = { readonly [key: string]: Plain };

/**
 * The jobspec as a Flux V1 document. Throws an AppError that lists everything that V1 cannot
 * express.
 */
export function toFluxV1(jobspec: Jobspec): PlainMap {
  const reasons: string[] = [];
  const group = jobspec.items.find(({ kind }) => kind === "group");
  if (group !== undefined) reasons.push(`a group (${quote(group.name)})`);
  const [task] = jobspec.items.flatMap((item) => (item.kind === "task" ? [item] : []));
  if (jobspec.items.length > 1) reasons.push(`several tasks (${jobspec.items.length})`);
  if (task !== undefined && group === undefined) reasons.push(...unsaid(task));
  const resources =
    task === undefined || reasons.length > 0 ? undefined : toResources(task, reasons);
  const run = task?.work.run;
  if (reasons.length > 0 || task === undefined || run === undefined) {
    const text = firstOf(reasons).map((reason) => `Flux V1 cannot express ${reason}`);
    throw new AppError("invalid_argument", text.join("\n"));
  }
  const attributes = effectiveAttributes(jobspec, [task]);
  const { kind, count } = task.processes;
  return {
    version: 1,
    resources: resources ?? [],
    tasks: [
      {
        command: [...argvOf(run)],
        slot: labelOf(task),
        count: kind === "total" ? { total: count } : { per_slot: count },
      },
    ],
    attributes: toAttributes(attributes, jobspec.name),
  };
}

function unsaid(task: JobspecTask): readonly string[] {
  const { work } = task;
  const requirements = task.resources.flat().flatMap(requirementsIn);
  return [
    ...(task.replicas > 1 ? [`replicas (${task.replicas})`] : []),
    ...(task.isLocal ? ["a local task"] : []),
    ...(work.steps.length > 0 ? ["steps"] : []),
    ...(work.steps.length === 0 && work.scripts.length > 0 ? ["scripts beside a command"] : []),
    ...(task.resources.length > 1 ? [`alternatives (${task.resources.length})`] : []),
    ...(requirements.length > 0 ? [`requirements (${[...new Set(requirements)].join(", ")})`] : []),
  ];
}

type Tree = JobspecTask["resources"][number][number];

const requirementsIn = (tree: Tree): readonly string[] => [
  ...tree.requires.map(({ subsystem }) => subsystem),
  ...tree.with.flatMap(requirementsIn),
];

const labelsIn = (tree: Tree): readonly string[] => [
  ...(tree.isSlot && tree.label !== undefined ? [tree.label] : []),
  ...tree.with.flatMap(labelsIn),
];

const labelOf = (task: JobspecTask): string => task.resources.flat().flatMap(labelsIn)[0] ?? "task";

/** Nodes, in them slots, in those cores and gpus: V1 has nothing else. */
function toResources(task: JobspecTask, reasons: string[]): Plain {
  const [trees = []] = task.resources;
  const shape = shapeOf(trees);
  const { perSlot, nodes, nodesPerSlot, slots } = shape;
  if (trees.length > 1) reasons.push("several resources in one request");
  if (nodesPerSlot > 1) reasons.push(`a slot of ${nodesPerSlot} nodes`);
  if (perSlot.memoryBytes > 0 || perSlot.isMemoryUnknown) reasons.push("memory");
  for (const name of Object.keys(perSlot.others)) reasons.push(`a resource of type ${quote(name)}`);
  if (nodes !== undefined && slots % nodes !== 0) reasons.push("nodes that differ");
  const slot = {
    type: "slot",
    label: labelOf(task),
    count: slots / (nodes ?? 1),
    with: [
      { type: "core", count: Math.max(1, perSlot.cores) },
      ...(perSlot.gpus === 0 ? [] : [{ type: "gpu", count: perSlot.gpus }]),
    ],
  };
  if (nodes === undefined) {
    if (shape.isExclusive) reasons.push("exclusive use of a resource that is not a node");
    return [slot];
  }
  const exclusive = shape.isExclusive ? { exclusive: true } : {};
  return [{ type: "node", count: nodes, ...exclusive, with: [slot] }];
}

/**
 * V1 requires a duration; 0 means no limit. The name is an attribute of Flux; attributes that
 * Busbar passes on are the user's.
 */
function toAttributes(attributes: Attributes, name: string | undefined): PlainMap {
  const { durationMs, cwd, environment, extras } = attributes;
  const { system, user, ...others } = extras;
  const kept = mapOf(system);
  const users = { ...mapOf(user), ...others };
  return {
    ...(Object.keys(users).length === 0 ? {} : { user: users }),
    system: {
      ...kept,
      ...(name === undefined ? {} : { job: { ...mapOf(kept["job"]), name } }),
      duration: (durationMs ?? 0) / 1_000,
      ...(cwd === undefined ? {} : { cwd }),
      environment,
    },
  };
}

const mapOf = (value: Plain | undefined): PlainMap =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as PlainMap) : {};
