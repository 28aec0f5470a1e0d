import type { LowerJob } from "../../lower/scheduler.ts";

/**
 * A job's name is the only field that Flux can list and search. So the name contains the user's name of the job, then the marker, and for
 * an element of an array its index: "train busbar:x:17[3]".
 */
export function jobNameOf({
  name,
  marker,
  indexes,
}: Pick<LowerJob, "name" | "marker" | "indexes">) {
  // Flux would expand braces.
  const words = name
    .replaceAll(/[\s{}\p{Cc}]+/gu, " ")
    .trim()
    .slice(0, NAME_LENGTH_MAX);
  return `${words} ${markerWord(marker)}${indexes === undefined ? "" : "[{cc}]"}`.trim();
}

const NAME_LENGTH_MAX = 64;

/** One word, without characters that have a meaning for Flux. */
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
