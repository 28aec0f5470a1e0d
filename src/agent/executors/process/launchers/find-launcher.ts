import { existsSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../../../lib/files/package-root.ts";

/** Where `npm run build` puts the native launcher for the machine it runs on. */
export const launcherPath = (root: string, arch: string = process.arch): string =>
  join(root, "dist", "native", `launcher-linux-${arch}`);

/** The same of the program that gives a run its client's input or terminal. */
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
