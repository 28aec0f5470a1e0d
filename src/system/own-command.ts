import { existsSync } from "node:fs";
import { delimiter, join, relative } from "node:path";
import { packageRoot } from "../lib/files/package-root.ts";

/**
 * How a user in directory `cwd` calls this package, for messages. A checkout has the command in its folder. Packages of the project that npm
 * runs are not on the search path of a shell.
 */
export function ownCommand(
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
  root = packageRoot(import.meta.dirname),
): string {
  if (existsSync(join(root, "src"))) return commandOfCheckout(root, cwd, env["PATH"]);
  const project = env["npm_config_local_prefix"];
  const isOfProject = project !== undefined && root === join(project, "node_modules", "busbar");
  return isOfProject ? "npx busbar" : "busbar";
}

function commandOfCheckout(root: string, cwd: string, path = ""): string {
  if (path.split(delimiter).includes(root)) return "busbar";
  const whole = join(root, "busbar");
  const fromHere = relative(cwd, whole);
  if (!fromHere.startsWith("..")) return `./${fromHere}`;
  return fromHere.length < whole.length ? fromHere : whole;
}
