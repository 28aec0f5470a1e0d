/** One generated job. Times are those of the server. */
export interface GeneratedJob {
  readonly id: string;
  readonly wattSeconds: number;
  readonly state: string;
  readonly submittedAtMs: number;
  readonly startedAtMs: number | undefined;
  readonly endedAtMs: number | undefined;
}

export interface Spread {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export interface Statistics {
  readonly jobs: number;
  readonly states: Readonly<Record<string, number>>;
  /** For jobs that succeeded. */
  readonly wattSeconds: number;
  readonly seconds: number;
  readonly submittedPerSecond: number;
  readonly endedPerSecond: number;
  /** From submission to start, and to end; absent: no job came so far. */
  readonly waitMs?: Spread;
  readonly tookMs?: Spread;
  /** The number of ended jobs in each of equal parts of the time. */
  readonly ends: readonly number[];
}

export const PARTS = 48;

export function statisticsOf(jobs: readonly GeneratedJob[]): Statistics {
  const times = jobs.flatMap((job) => [job.submittedAtMs, job.endedAtMs ?? job.submittedAtMs]);
  const fromMs = least(times);
  const lastMs = -least(times.map((ms) => -ms));
  const seconds = Math.max(0, lastMs - fromMs) / 1_000;
  const submits = jobs.map(({ submittedAtMs }) => submittedAtMs - fromMs);
  const submitSeconds = -least(submits.map((ms) => -ms)) / 1_000;
  const ended = jobs.filter(({ endedAtMs }) => endedAtMs !== undefined);
  const states: Record<string, number> = {};
  for (const { state } of jobs) states[state] = (states[state] ?? 0) + 1;
  const waits = jobs.flatMap(({ submittedAtMs, startedAtMs }) =>
    startedAtMs === undefined ? [] : [startedAtMs - submittedAtMs],
  );
  const tooks = jobs.flatMap(({ submittedAtMs, endedAtMs }) =>
    endedAtMs === undefined ? [] : [endedAtMs - submittedAtMs],
  );
  const succeeded = jobs.filter(({ state }) => state === "succeeded");
  return {
    jobs: jobs.length,
    states,
    wattSeconds: succeeded.reduce((sum, job) => sum + job.wattSeconds, 0),
    seconds: rounded(seconds),
    submittedPerSecond: rate(jobs.length, submitSeconds),
    endedPerSecond: rate(ended.length, seconds),
    ...(waits.length === 0 ? {} : { waitMs: spreadOf(waits) }),
    ...(tooks.length === 0 ? {} : { tookMs: spreadOf(tooks) }),
    ends: endsIn(ended, fromMs, lastMs),
  };
}

function endsIn(ended: readonly GeneratedJob[], fromMs: number, lastMs: number): number[] {
  const parts = Array.from({ length: PARTS }, () => 0);
  const lengthMs = Math.max(1, lastMs - fromMs + 1);
  for (const { endedAtMs = fromMs } of ended) {
    const at = Math.floor(((endedAtMs - fromMs) * PARTS) / lengthMs);
    parts[at] = (parts[at] ?? 0) + 1;
  }
  return parts;
}

function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (part: number): number =>
    sorted[Math.min(sorted.length - 1, Math.ceil(part * sorted.length) - 1)] ?? 0;
  return { p50: at(0.5), p99: at(0.99), max: sorted.at(-1) ?? 0 };
}

const least = (values: readonly number[]): number =>
  values.reduce((a, b) => Math.min(a, b), values[0] ?? 0);
const rounded = (value: number): number => Math.round(value * 100) / 100;
const rate = (count: number, seconds: number): number =>
  seconds === 0 ? 0 : rounded(count / seconds);
