import { statSync } from "node:fs";
import { isAbsolute } from "node:path";

/**
 * What the work's environment begins with: the agent's own, read once, as process.env is slow. Its
 * settings, a key perhaps among them, are none of the work's business.
 */
export function baseEnvOf(
  agentEnv: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(agentEnv)) {
    if (value !== undefined && !name.startsWith("BUSBAR_")) env[name] = value;
  }
  return env;
}

/** Throws an Error whose message is for people. */
export function checkWorkingDirectory(cwd: string): void {
  if (!isAbsolute(cwd)) throw new Error(`the working directory must be absolute: ${cwd}`);
  const stat = statSync(cwd, { throwIfNoEntry: false });
  if (stat === undefined) throw new Error(`the working directory does not exist: ${cwd}`);
  if (!stat.isDirectory()) throw new Error(`the working directory is not a directory: ${cwd}`);
}
