import type { Sample } from "./sample.ts";

/** One minute of a soak: medians, so that one garbage collection or one burst does not count. */
export interface Minute {
  readonly number: number; // from 1
  readonly server: Usage;
  readonly agent: Usage;
  readonly tasksEnded: number;
  readonly jobsEnded: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface Usage {
  readonly rssBytes: number;
  readonly heapBytes: number;
  readonly descriptors: number;
  readonly threads: number;
  /** The minimum over the samples: short-lived ones are gone by the next sample. */
  readonly zombies: number;
}

export function usageOf(samples: readonly Sample[]): Usage {
  const medianOf = (pick: (sample: Sample) => number | undefined): number =>
    quantile(
      samples.map(pick).filter((value) => value !== undefined),
      0.5,
    );
  return {
    rssBytes: medianOf(({ rssBytes }) => rssBytes),
    heapBytes: medianOf(({ heapBytes }) => heapBytes),
    descriptors: medianOf(({ descriptors }) => descriptors),
    threads: medianOf(({ threads }) => threads),
    zombies: Math.min(...samples.map(({ zombies }) => zombies)),
  };
}

export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}

const HEADER =
  "minute  server: rss  heap  fds  threads  zombies  agent: rss  fds  threads  zombies  jobs  tasks  p50    p99";

export function renderMinutes(minutes: readonly Minute[]): string {
  return [HEADER, ...minutes.map(renderMinute)].join("\n");
}

function renderMinute({ number, server, agent, ...rest }: Minute): string {
  const cells: readonly (readonly [text: string, width: number])[] = [
    [String(number), 6],
    [mib(server.rssBytes), 13],
    [mib(server.heapBytes), 6],
    [String(server.descriptors), 5],
    [String(server.threads), 9],
    [String(server.zombies), 9],
    [mib(agent.rssBytes), 12],
    [String(agent.descriptors), 5],
    [String(agent.threads), 9],
    [String(agent.zombies), 9],
    [String(rest.jobsEnded), 6],
    [String(rest.tasksEnded), 7],
    [`${Math.round(rest.p50Ms)}ms`, 7],
    [`${Math.round(rest.p99Ms)}ms`, 7],
  ];
  return cells.map(([text, width]) => text.padStart(width)).join("");
}

const mib = (bytes: number): string => `${Math.round(bytes / 1024 ** 2)}M`;
