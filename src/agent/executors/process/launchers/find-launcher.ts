import { existsSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../../../lib/files/package-root.ts";

/** The path where `npm run build` writes the native launcher for its machine. */
export const launcherPath = (root: string, arch: string = process.arch): string =>
  join(root, "dist", "native", `launcher-linux-${arch}`);

/** The same for the program that connects a client's input or terminal to a run. */
export const attachPath = (root: string, arch: string = process.arch): string =>
  join(root, "dist", "native", `attach-linux-${arch}`);

/** The native launcher for this machine, compiled here or part of the package; undefined: none. */
export const findLauncher = (): string | undefined => found(launcherPath);

/** The program of `attachPath` for this machine; undefined: none. */
export const findAttach = (): string | undefined => found(attachPath);

function found(pathOf: typeof launcherPath): string | undefined {
  const path = pathOf(packageRoot(import.meta.dirname));
  return process.platform === "linux" && existsSync(path) ? path : undefined;
}
