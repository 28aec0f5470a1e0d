import { parseProgressLine, type ToldProgress } from "../../core/model/job/task-progress.ts";

/**
 * The last line that says how far a run is. One that is not complete counts only if no other does: the
 * rest of it may be on its way.
 */
export function lastProgress(text: string, isCut: boolean): ToldProgress | undefined {
  // A file that was emptied under an open descriptor begins with zeros.
  const lines = text.replace(/^\0+/, "").split("\n");
  const rest = lines.pop() ?? "";
  if (isCut) lines.shift();
  for (const line of lines.toReversed()) {
    const progress = parseProgressLine(line);
    if (progress !== undefined) return progress;
  }
  return isCut ? undefined : parseProgressLine(rest);
}
