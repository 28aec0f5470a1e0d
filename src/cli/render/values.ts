import { isInBytes } from "../../core/model/resources.ts";
import { formatBytes } from "../../lib/units.ts";
import type { ProgressRow, UsageRow } from "../rows.ts";
import type { Style } from "./page.ts";
import type { Column } from "./table.ts";

/** The age in its largest unit: "now", "42s ago", "3h ago". */
export function ago(thenMs: number | undefined, nowMs: number): string {
  if (thenMs === undefined) return "";
  const ms = nowMs - thenMs;
  // Clocks of two machines differ a little; a time slightly in the future counts as now.
  if (ms < 1_000) return ms > -5_000 ? "now" : `in ${roughly(-ms)}`;
  return `${roughly(ms)} ago`;
}

function roughly(ms: number): string {
  if (ms < 60_000) return `${Math.floor(ms / 1_000)}s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)}m`;
  if (ms < 48 * 3_600_000) return `${Math.floor(ms / 3_600_000)}h`;
  return `${Math.floor(ms / 86_400_000)}d`;
}

/** A time span with two significant digits: "12ms", "3.4s", "1m05s", "2h13m", "3d04h". */
export function elapsed(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))}ms`;
  const seconds = ms / 1_000;
  if (seconds < 9.95) return `${seconds.toFixed(1)}s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole}s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)}m${two(whole % 60)}s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)}h${two(minutes % 60)}m`;
  const hours = Math.floor(minutes / 60);
  return `${Math.floor(hours / 24)}d${two(hours % 24)}h`;
}

const two = (value: number): string => String(value).padStart(2, "0");

/** From start to end, or until now. */
export function took(
  row: { readonly startedAtMs?: number; readonly endedAtMs?: number },
  nowMs: number,
): string {
  if (row.startedAtMs === undefined) return "";
  return elapsed((row.endedAtMs ?? nowMs) - row.startedAtMs);
}

/** In whole microseconds, as they were measured: a sum of many has 2.1491089999999997 s. */
const secondsText = (ms: number): string => String(Math.round(ms * 1_000) / 1_000_000);

/** CPU time of a row: "34ms", "1h02m". */
export const cpuTime = ({ usage }: { readonly usage?: UsageRow }): string =>
  usage?.cpuMs === undefined ? "" : elapsed(usage.cpuMs);

export const maxMemory = ({ usage }: { readonly usage?: UsageRow }): string =>
  usage?.maxRssBytes === undefined ? "" : formatBytes(usage.maxRssBytes);

/** "40 %", "40 % step 3"; empty: none was reported. */
export const progressText = ({ progress }: { readonly progress?: ProgressRow }): string =>
  progress === undefined ? "" : `${progress.percent} % ${progress.message ?? ""}`.trimEnd();

/** Fields of one row that has a usage. */
export const usageFields = (row: { readonly usage?: UsageRow }): [string, string][] => [
  ["CPU time", cpuTime(row)],
  ["Wall time", row.usage?.wallMs === undefined ? "" : elapsed(row.usage.wallMs)],
  ["Max memory", maxMemory(row)],
  ["Page-ins", row.usage?.majorFaults === undefined ? "" : String(row.usage.majorFaults)],
];

/** A time for people who compare it with a log: "2026-03-01 12:00:05Z". */
export const moment = (ms: number): string =>
  `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")}Z`;

/** For people the age, for programs the time: "2026-03-01T12:00:05.000Z". */
export const momentColumn = <Row>(
  title: string,
  at: (row: Row) => number | undefined,
  nowMs: number,
): Column<Row> => ({
  title,
  value: (row) => ago(at(row), nowMs),
  csv: (row) => isoText(at(row)),
});

const isoText = (ms: number | undefined): string =>
  ms === undefined ? "" : new Date(ms).toISOString();

type Timed = Parameters<typeof took>[0];

/** For programs in seconds. */
export const tookColumn = (nowMs: number): Column<Timed> => ({
  title: "TOOK",
  align: "right",
  value: (row) => took(row, nowMs),
  csv: ({ startedAtMs, endedAtMs = nowMs }) =>
    startedAtMs === undefined ? "" : String((endedAtMs - startedAtMs) / 1_000),
});

/** For programs in seconds. */
export const cpuTimeColumn = <Row extends { readonly usage?: UsageRow }>(
  title: string,
): Column<Row> => ({
  title,
  align: "right",
  value: cpuTime,
  csv: ({ usage: used }) => (used?.cpuMs === undefined ? "" : secondsText(used.cpuMs)),
});

/** For programs in bytes. */
export const maxMemoryColumn = <Row extends { readonly usage?: UsageRow }>(
  title: string,
): Column<Row> => ({
  title,
  align: "right",
  value: maxMemory,
  csv: ({ usage: used }) => String(used?.maxRssBytes ?? ""),
});

export const amount = (name: string, value: number): string =>
  isInBytes(name) ? formatBytes(value) : String(Math.round(value * 1_000) / 1_000);

/** "cpu 2, memory 4GiB". */
export const resources = (amounts: Readonly<Record<string, number>>): string =>
  byKey(amounts)
    .map(([name, value]) => `${name} ${amount(name, value)}`)
    .join(", ");

/** "1.5/8": used of total; empty when there is none. */
export function usage(
  name: string,
  row: {
    readonly used: Readonly<Record<string, number>>;
    readonly capacity: Readonly<Record<string, number>>;
  },
): string {
  const capacity = row.capacity[name];
  if (capacity === undefined) return "";
  return `${amount(name, row.used[name] ?? 0)}/${amount(name, capacity)}`;
}

/** "a=1,b=2". */
export const pairs = (labels: Readonly<Record<string, string>> | undefined): string =>
  byKey(labels ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .join(",");

const byKey = <T>(record: Readonly<Record<string, T>>): [string, T][] =>
  Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));

const STYLES: Readonly<Record<string, Style>> = {
  running: "cyan",
  accepted: "cyan",
  stopping: "yellow",
  succeeded: "green",
  failed: "red",
  expired: "red",
  cancelled: "yellow",
  skipped: "yellow",
  connected: "green",
  draining: "yellow",
  drained: "yellow",
  disconnected: "red",
  lost: "red",
  unhealthy: "red",
  quarantined: "red",
};

export const stateStyle = (state: string): Style | undefined => STYLES[state];
