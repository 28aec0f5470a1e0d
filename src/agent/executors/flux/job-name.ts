import type { LowerJob } from "../../lower/scheduler.ts";

/**
 * Flux keeps nothing of a job that can be listed and looked for, but its name. So the name is what
 * people call the job, then the marker, and of an array's element its index: "train busbar:x:17[3]".
 */
export function jobNameOf({
  name,
  marker,
  indexes,
}: Pick<LowerJob, "name" | "marker" | "indexes">) {
  // Braces would be filled in.
  const words = name
    .replaceAll(/[\s{}\p{Cc}]+/gu, " ")
    .trim()
    .slice(0, NAME_LENGTH_MAX);
  return `${words} ${markerWord(marker)}${indexes === undefined ? "" : "[{cc}]"}`.trim();
}

const NAME_LENGTH_MAX = 64;

/** One word, without what has a meaning for Flux. */
const markerWord = (marker: string): string => encodeURIComponent(marker).replaceAll("%3A", ":");

export interface Marked {
  readonly marker: string;
  readonly index: number | undefined;
}

/** undefined: not a name that we gave. */
export function markedBy(jobName: string): Marked | undefined {
  const [, word, index] = /(?:^| )([^ [\]]+)(?:\[(\d+)\])?$/.exec(jobName) ?? [];
  if (word?.startsWith("busbar:") !== true) return undefined;
  try {
    const marker = decodeURIComponent(word);
    return { marker, index: index === undefined ? undefined : Number(index) };
  } catch {
    return undefined;
  }
}
