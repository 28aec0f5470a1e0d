import { INSTANCES } from "../../../core/model/job/workload/workload.ts";
import { limits } from "../../../limits.ts";

/** A worker's report about its machine with a heartbeat. */
export interface MachineSample {
  readonly atMs: number;
  readonly cpus: number;
  /** Of all processors together, in percent. */
  readonly cpuFreePercent: number;
  readonly memoryBytes: number;
  readonly memoryFreeBytes: number;
  readonly disks: readonly {
    readonly name: string;
    readonly bytes: number;
    readonly freeBytes: number;
  }[];
}

/** Undefined: it is unreadable, which is no reason to refuse a worker. */
export function readMetrics(text: string, atMs: number): MachineSample | undefined {
  let value: unknown;
  try {
    if (text.length > limits.rikMetricsCharsMax) return undefined;
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { cpu, memory, disks } = fieldsOf(value);
  const cpus = amount(fieldsOf(cpu)["total"]);
  if (cpus === 0 || cpus > limits.rikCpusMax) return undefined;
  const some = Array.isArray(disks) ? disks.slice(0, DISKS_MAX) : [];
  return {
    atMs,
    cpus,
    cpuFreePercent: amount(fieldsOf(cpu)["free"]),
    memoryBytes: amount(fieldsOf(memory)["total"]),
    memoryFreeBytes: amount(fieldsOf(memory)["free"]),
    disks: some.map(fieldsOf).map(({ disk_name: name, total, free }) => ({
      name: typeof name === "string" ? name.slice(0, limits.nameLengthMax) : "",
      bytes: amount(total),
      freeBytes: amount(free),
    })),
  };
}

const DISKS_MAX = 64;

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null ? (value as Fields) : {};

const amount = (value: unknown): number =>
  typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : 0;

/**
 * The capacity of a worker for instances, in base units. Of its disks the one with the most free space counts: an image is on one. A worker
 * that does not report its machine accepts only instances that request nothing.
 */
export function capacityOf(sample: MachineSample | undefined): Record<string, number> {
  if (sample === undefined) return { [INSTANCES]: limits.rikInstancesPerCpu };
  const { cpus, memoryBytes, disks } = sample;
  const disk = Math.max(0, ...disks.map(({ freeBytes }) => freeBytes));
  const all: Record<string, number> = {
    cpu: Math.round(cpus * 1_000),
    memory: Math.floor(memoryBytes),
    disk: Math.floor(disk),
    [INSTANCES]: Math.ceil(cpus * limits.rikInstancesPerCpu),
  };
  return Object.fromEntries(Object.entries(all).filter(([, base]) => base > 0));
}

/** Whether a worker's machine has changed; its free amounts change all the time. */
export const isSameMachine = (
  a: MachineSample | undefined,
  b: MachineSample | undefined,
): boolean =>
  a?.cpus === b?.cpus && a?.memoryBytes === b?.memoryBytes && a?.disks.length === b?.disks.length;

/** The latest samples, oldest first. */
export class SampleHistory {
  readonly #samples: MachineSample[] = [];

  add(sample: MachineSample): void {
    this.#samples.push(sample);
    if (this.#samples.length > limits.rikSamplesKept) this.#samples.shift();
  }

  get all(): readonly MachineSample[] {
    return this.#samples;
  }

  get latest(): MachineSample | undefined {
    return this.#samples.at(-1);
  }
}
