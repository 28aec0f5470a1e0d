import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";

import type { RunRequest } from "../../../ports/executor.ts";
import type { RunTerms } from "./run.ts";
import type { Launch } from "./starter.ts";
import { isKeptByShell } from "./wrapper.ts";

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

/** Makes what a run needs in its `directory`. Throws an Error whose message is for people. */
export function prepareLaunch(
  request: RunRequest,
  directory: string,
  baseEnv: Readonly<Record<string, string>>,
): Launch {
  const cwd = request.cwd ?? join(directory, "work");
  if (request.cwd === undefined) makeDirectory(cwd);
  else checkWorkingDirectory(request.cwd);
  const env = { ...baseEnv };
  const byEnv: string[] = [];
  for (const [name, value] of Object.entries(request.env)) {
    if (isKeptByShell(name)) byEnv.push(`${name}=${value}`);
    else env[name] = value;
  }
  const argv = commandOf(request, directory);
  return {
    directory,
    cwd,
    env,
    argv: byEnv.length === 0 ? argv : ["/usr/bin/env", ...byEnv, ...argv],
  };
}

function checkWorkingDirectory(cwd: string): void {
  if (!isAbsolute(cwd)) throw new Error(`the working directory must be absolute: ${cwd}`);
  const stat = statSync(cwd, { throwIfNoEntry: false });
  if (stat === undefined) throw new Error(`the working directory does not exist: ${cwd}`);
  if (!stat.isDirectory()) throw new Error(`the working directory is not a directory: ${cwd}`);
}

function commandOf(request: RunRequest, directory: string): readonly string[] {
  if (request.work.kind === "command") {
    if (request.work.argv.length === 0) throw new Error("there is no program to run");
    return request.work.argv;
  }
  const path = join(directory, "script");
  // Closed again before any fork, or the kernel would refuse to run it as "text file busy".
  writeFileSync(path, request.work.text, { mode: 0o700 });
  return request.work.text.startsWith("#!") ? [path] : ["/bin/sh", path];
}

export function termsOf(request: RunRequest, startedAtMs: number): RunTerms {
  const { work, timeLimitMs, killGraceMs, outputLimitBytes } = request;
  const name = work.kind === "command" ? (work.argv[0] ?? "") : "the script";
  const program = name.slice(0, PROGRAM_LENGTH_MAX);
  return { program, startedAtMs, timeLimitMs, killGraceMs, outputLimitBytes };
}

const PROGRAM_LENGTH_MAX = 200; // in messages

/** False when it is there already. */
export function makeDirectory(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}
