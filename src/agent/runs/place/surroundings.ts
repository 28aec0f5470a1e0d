import { statSync } from "node:fs";
import { isAbsolute } from "node:path";

/** Throws an Error whose message is for people. */
export function checkWorkingDirectory(cwd: string): void {
  if (!isAbsolute(cwd)) throw new Error(`the working directory must be absolute: ${cwd}`);
  const stat = statSync(cwd, { throwIfNoEntry: false });
  if (stat === undefined) throw new Error(`the working directory does not exist: ${cwd}`);
  if (!stat.isDirectory()) throw new Error(`the working directory is not a directory: ${cwd}`);
}
