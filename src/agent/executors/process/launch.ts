import { statSync } from "node:fs";
import { isAbsolute, join } from "node:path";

import type { RunRequest } from "../../../ports/executor.ts";
import type { RunTerms } from "./run.ts";
import { runKey } from "./run.ts";
import type { Launch } from "./starter.ts";

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

/** What a starter needs for a run in `directory`. Throws an Error whose message is for people. */
export function launchOf(request: RunRequest, directory: string): Launch {
  const { id, work, env, cwd } = request;
  if (cwd !== undefined) checkWorkingDirectory(cwd);
  const common = { key: runKey(id), directory, env, cwd };
  if (work.kind === "script") {
    const path = join(directory, "script");
    const argv = work.text.startsWith("#!") ? [path] : ["/bin/sh", path];
    return { ...common, argv, script: work.text };
  }
  if (work.kind === "jobspec") throw new Error("this agent cannot run a whole jobspec");
  if (work.argv.length === 0) throw new Error("there is no program to run");
  return { ...common, argv: work.argv, script: undefined };
}

function checkWorkingDirectory(cwd: string): void {
  if (!isAbsolute(cwd)) throw new Error(`the working directory must be absolute: ${cwd}`);
  const stat = statSync(cwd, { throwIfNoEntry: false });
  if (stat === undefined) throw new Error(`the working directory does not exist: ${cwd}`);
  if (!stat.isDirectory()) throw new Error(`the working directory is not a directory: ${cwd}`);
}

export function termsOf(request: RunRequest, startedAtMs: number): RunTerms {
  const { work, timeLimitMs, killGraceMs, outputLimitBytes } = request;
  const name = work.kind === "command" ? (work.argv[0] ?? "") : `the ${work.kind}`;
  const program = name.slice(0, PROGRAM_LENGTH_MAX);
  return { program, startedAtMs, timeLimitMs, killGraceMs, outputLimitBytes };
}

const PROGRAM_LENGTH_MAX = 200; // in messages
