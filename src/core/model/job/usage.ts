/**
 * The usage of an attempt, as its executor measured it. A number that the executor does not know is
 * absent, never 0.
 */
export interface Usage {
  /** User and system time of the command and of every descendant that was waited for. */
  readonly cpuUs?: number;
  /** By a monotonic clock. */
  readonly wallUs?: number;
  /** Resident memory of the largest process at its largest. */
  readonly maxRssKib?: number;
  /** Page faults that had to read from a disk. */
  readonly majorFaults?: number;
}

/** The usage of several attempts: times and faults are added, of memory the maximum counts. */
export function addUsage(a: Usage | undefined, b: Usage | undefined): Usage | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return makeUsage(
    sum(a.cpuUs, b.cpuUs),
    sum(a.wallUs, b.wallUs),
    most(a.maxRssKib, b.maxRssKib),
    sum(a.majorFaults, b.majorFaults),
  );
}

/** undefined: nothing is known. */
export function makeUsage(
  cpuUs: number | undefined,
  wallUs: number | undefined,
  maxRssKib: number | undefined,
  majorFaults: number | undefined,
): Usage | undefined {
  const usage: { -readonly [Name in keyof Usage]: Usage[Name] } = {};
  if (cpuUs !== undefined) usage.cpuUs = cpuUs;
  if (wallUs !== undefined) usage.wallUs = wallUs;
  if (maxRssKib !== undefined) usage.maxRssKib = maxRssKib;
  if (majorFaults !== undefined) usage.majorFaults = majorFaults;
  for (const _name in usage) return usage;
  return undefined;
}

/** The form in rows: four numbers, null where one is not known. */
export type StoredUsage = readonly (number | null | undefined)[];

export const encodeUsage = (usage: Usage): StoredUsage => [
  usage.cpuUs,
  usage.wallUs,
  usage.maxRssKib,
  usage.majorFaults,
];

export const decodeUsage = (stored: StoredUsage): Usage | undefined =>
  makeUsage(
    stored[0] ?? undefined,
    stored[1] ?? undefined,
    stored[2] ?? undefined,
    stored[3] ?? undefined,
  );

/** The usage of many attempts, as far as it is known; changed in place. */
export interface UsageTally {
  cpuUs: number;
  wallUs: number;
  majorFaults: number;
}

export const noUsage = (): UsageTally => ({ cpuUs: 0, wallUs: 0, majorFaults: 0 });

/** `times` is -1 where attempts are removed. */
export function tallyUsage(tally: UsageTally, usage: Usage | undefined, times: 1 | -1 = 1): void {
  if (usage === undefined) return;
  tally.cpuUs += times * (usage.cpuUs ?? 0);
  tally.wallUs += times * (usage.wallUs ?? 0);
  tally.majorFaults += times * (usage.majorFaults ?? 0);
}

const sum = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : a + b;
const most = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);
