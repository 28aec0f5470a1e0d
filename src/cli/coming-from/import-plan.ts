import { basename } from "node:path";
import { limits } from "../../limits.ts";
import type { Session } from "../session.ts";

/** The step for one key of another product's configuration. */
export interface ImportStep {
  readonly key: string;
  /** In words that never hold a secret. */
  readonly becomes: string;
  /**
   * apply: sent to the server. flag: passed when the server starts. stays: keeps its meaning for the
   * program that reads the file. none: has no meaning here.
   */
  readonly kind: "apply" | "flag" | "stays" | "blocked" | "none";
  /** For a blocked key: the reason and a remedy. For others: a remark. */
  readonly hint?: string;
}

export interface ImportPlan {
  readonly steps: readonly ImportStep[];
  /** Flags of `busbar server` and `busbar up`. */
  readonly flags: readonly string[];
  readonly warnings: readonly string[];
}

export const none = (key: string, becomes: string): ImportStep => ({ key, becomes, kind: "none" });

/** The content of the file, and its name in errors. */
export async function readImported(
  { context }: Session,
  path: string,
): Promise<{ readonly content: string; readonly name: string }> {
  const bytes = await context.readInput(path, limits.messageBytesMax);
  return { content: bytes.toString("utf8"), name: path === "-" ? "stdin" : basename(path) };
}
