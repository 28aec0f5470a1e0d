import { invalid } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Resources } from "../resources.ts";
import { isResourceName } from "../resources.ts";
import { visible } from "../texts.ts";

/**
 * The facts of one machine: resources that can be counted and allocated, and entries by subsystem
 * ("os", "mpi", "spack") that jobs can require.
 */
export interface NodeFacts {
  /** Whole cpus that are offered; `software.cpu` describes the processor itself. */
  readonly cores: number;
  /** 0: not known. */
  readonly sockets: number;
  /** NUMA domains in total; 0: not known. */
  readonly numa: number;
  readonly memoryBytes: number;
  readonly gpus: number;
  /** Other offered resources, by name. */
  readonly others: Readonly<Record<string, number>>;
  readonly software: Software;
}

/** Entries by subsystem. One entry that meets all conditions satisfies a requirement. */
export type Software = Readonly<Record<string, readonly FactEntry[]>>;
export type FactEntry = Readonly<Record<string, FactValue>>;
export type FactValue = string | number | boolean;

export const NO_FACTS: NodeFacts = Object.freeze({
  cores: 0,
  sockets: 0,
  numa: 0,
  memoryBytes: 0,
  gpus: 0,
  others: Object.freeze({}),
  software: Object.freeze({}),
});

/** Names of resources in a graph; other resources must not use them. */
const GRAPH_TYPES = new Set(["cluster", "rack", "node", "socket", "numa", "core", "memory", "gpu"]);

/**
 * The offered capacity counts, whatever the machine has: jobs must not get cores that the agent is
 * configured to withhold.
 */
export function offeredFacts(found: NodeFacts, capacity: Resources): NodeFacts {
  const { cpu = 0, memory: memoryBytes = 0, gpu: gpus = 0, ...rest } = capacity;
  const cores = Math.floor(cpu / 1_000);
  const others = Object.entries(rest).filter(([name]) => !GRAPH_TYPES.has(name));
  return {
    cores,
    // A part without a core does not count: a container may see all sockets and have one core.
    sockets: Math.min(found.sockets, cores),
    numa: Math.min(found.numa, cores),
    memoryBytes,
    gpus,
    others: Object.fromEntries(others.sort(([a], [b]) => (a < b ? -1 : 1))),
    software: found.software,
  };
}

/** The assumed facts of an agent that reports none. */
export const factsOfCapacity = (capacity: Resources): NodeFacts => offeredFacts(NO_FACTS, capacity);

/** Facts from text, validated: agents and files are not trusted. */
export function parseNodeFacts(text: string, field: string): NodeFacts {
  if (text.length > limits.factsCharsMax) {
    throw invalid(field, `at most ${limits.factsCharsMax} characters, not ${text.length}`);
  }
  let input: unknown;
  try {
    input = JSON.parse(text);
  } catch (cause) {
    throw invalid(field, `is not JSON: ${cause instanceof Error ? cause.message : "unreadable"}`);
  }
  return checkNodeFacts(input, field);
}

/** Drops unknown fields: they may be of a newer agent. */
export function checkNodeFacts(input: unknown, field: string): NodeFacts {
  if (!isRecord(input)) throw invalid(field, "must be an object with cores, memoryBytes, software");
  return {
    cores: wholeNumber(input["cores"], `${field}.cores`),
    sockets: wholeNumber(input["sockets"], `${field}.sockets`, limits.machinePartsMax),
    numa: wholeNumber(input["numa"], `${field}.numa`, limits.machinePartsMax),
    memoryBytes: wholeNumber(input["memoryBytes"], `${field}.memoryBytes`),
    gpus: wholeNumber(input["gpus"], `${field}.gpus`),
    others: checkOthers(input["others"] ?? {}, `${field}.others`),
    software: checkSoftware(input["software"] ?? {}, `${field}.software`),
  };
}

function wholeNumber(value: unknown, field: string, most = Number.MAX_SAFE_INTEGER): number {
  if (value === undefined) return 0;
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= most) {
    return value + 0; // JSON can express -0; it becomes 0, because a stored row must equal the checked value
  }
  throw invalid(field, `must be a whole number from 0 to ${most}, not ${shown(value)}`);
}

function checkOthers(input: unknown, field: string): Readonly<Record<string, number>> {
  if (!isRecord(input)) throw invalid(field, "must be an object of amounts by name");
  const names = Object.keys(input).sort();
  if (names.length > limits.resourceNamesMax) {
    throw invalid(field, `at most ${limits.resourceNamesMax} names, not ${names.length}`);
  }
  const others: Record<string, number> = {};
  for (const name of names) {
    if (!isResourceName(name) || GRAPH_TYPES.has(name)) {
      throw invalid(field, `${shown(name)} is not a name of a resource, like "license"`);
    }
    others[name] = wholeNumber(input[name], `${field}.${name}`);
  }
  return others;
}

/**
 * A name of Object.prototype would be found where nothing was put, and "cluster" is the graph; names of
 * subsystems become file names.
 */
const isName = (name: string): boolean =>
  name.length <= limits.nameLengthMax && /^[A-Za-z0-9][\w.+-]*$/.test(name) && !(name in {});

function checkSoftware(input: unknown, field: string): Software {
  if (!isRecord(input)) throw invalid(field, "must be an object of lists by subsystem");
  const names = Object.keys(input);
  if (names.length > limits.factsSubsystemsMax) {
    throw invalid(field, `at most ${limits.factsSubsystemsMax} subsystems, not ${names.length}`);
  }
  const software: Record<string, readonly FactEntry[]> = {};
  let count = 0;
  for (const name of names) {
    if (!isName(name) || name === "cluster") {
      throw invalid(field, `${shown(name)} is not a name of a subsystem, like "os"`);
    }
    const entries = input[name];
    if (!Array.isArray(entries)) throw invalid(`${field}.${name}`, "must be a list of entries");
    count += entries.length;
    if (count > limits.factsEntriesMax) {
      throw invalid(field, `at most ${limits.factsEntriesMax} entries in all subsystems together`);
    }
    software[name] = (entries as readonly unknown[]).map((entry, at) =>
      checkEntry(entry, `${field}.${name}[${at}]`),
    );
  }
  return software;
}

function checkEntry(input: unknown, field: string): FactEntry {
  if (!isRecord(input)) throw invalid(field, "must be an object of texts, numbers and booleans");
  const names = Object.keys(input);
  if (names.length === 0) throw invalid(field, "must have at least one field");
  if (names.length > limits.factFieldsMax) {
    throw invalid(field, `at most ${limits.factFieldsMax} fields, not ${names.length}`);
  }
  const entry: Record<string, FactValue> = {};
  for (const name of names) {
    if (!isName(name))
      throw invalid(field, `${shown(name)} is not a name of a field, like "version"`);
    entry[name] = checkValue(name, input[name], `${field}.${name}`);
  }
  return entry;
}

/** `type`, `size` and `unit` have the same meaning in a graph, where each entry becomes a vertex. */
function checkValue(name: string, value: unknown, field: string): FactValue {
  const isAmount = name === "size";
  const isText = name === "type" || name === "unit";
  if (typeof value === "string" && !isAmount) {
    const most = name === "unit" ? limits.unitLengthMax : limits.factTextLengthMax;
    if (value.length > most) throw invalid(field, `at most ${most} characters`);
    if (value === "" && name === "type") throw invalid(field, "must not be empty");
    return visible(value, most);
  }
  if (typeof value === "number" && Number.isFinite(value) && !isText) {
    if (isAmount && !(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) {
      throw invalid(field, `must be from 0 to 2^53, not ${value}`);
    }
    return value + 0;
  }
  if (typeof value === "boolean" && !isAmount && !isText) return value;
  const wanted = isAmount ? "a number" : isText ? "a text" : "a text, a number or a boolean";
  throw invalid(field, `must be ${wanted}, not ${shown(value)}`);
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function shown(value: unknown): string {
  if (typeof value === "object" && value !== null)
    return Array.isArray(value) ? "a list" : "an object";
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
