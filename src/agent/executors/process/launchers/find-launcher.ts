import { existsSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../../../lib/files/package-root.ts";

/** Where `npm run build` puts the native launcher for the machine it runs on. */
export const launcherPath = (root: string, arch: string = process.arch): string =>
  join(root, "dist", "native", `launcher-linux-${arch}`);

/** The native launcher for this machine, compiled here or part of the package; undefined: none. */
export function findLauncher(): string | undefined {
  const path = launcherPath(packageRoot(import.meta.dirname));
  return process.platform === "linux" && existsSync(path) ? path : undefined;
}
