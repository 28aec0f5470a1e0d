import { parseProgressLine, type ReportedProgress } from "../../../core/model/job/task-progress.ts";

/** The last line with progress. An incomplete line counts only if there is no other: the rest of it may follow. */
export function lastProgress(text: string, isCut: boolean): ReportedProgress | undefined {
  // A file that was truncated under an open descriptor begins with zeros.
  const lines = text.replace(/^\0+/, "").split("\n");
  const rest = lines.pop() ?? "";
  if (isCut) lines.shift();
  for (const line of lines.toReversed()) {
    const progress = parseProgressLine(line);
    if (progress !== undefined) return progress;
  }
  return isCut ? undefined : parseProgressLine(rest);
}
