import { existsSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../lib/files/package-root.ts";

/**
 * How a user calls an installed package, for messages; undefined: it is a checkout, which has the command in its folder. Packages of the
 * project that npm runs are not on the search path of a shell.
 */
export function ownCommand(
  env: Readonly<Record<string, string | undefined>>,
  root = packageRoot(import.meta.dirname),
): string | undefined {
  if (existsSync(join(root, "src"))) return undefined;
  const project = env["npm_config_local_prefix"];
  const isOfProject = project !== undefined && root === join(project, "node_modules", "busbar");
  return isOfProject ? "npx busbar" : "busbar";
}
