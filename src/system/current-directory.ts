import { isAbsolute, resolve } from "node:path";
import { AppError } from "../lib/errors.ts";

/** Only for commands that need it: another process may have removed it. */
export function currentDirectory(): string {
  try {
    return process.cwd();
  } catch {
    const problem = "the current directory does not exist any more; change to another one (cd)";
    throw new AppError("unavailable", problem);
  }
}

/** A path of the caller. */
export const pathOf = (path: string): string =>
  isAbsolute(path) ? resolve(path) : resolve(currentDirectory(), path);
