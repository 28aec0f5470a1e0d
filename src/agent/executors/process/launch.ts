import { join } from "node:path";

import type { RunRequest } from "../../../ports/executor.ts";
import { checkWorkingDirectory } from "../../runs/surroundings.ts";
import type { RunTerms } from "./run.ts";
import { runKey } from "../../runs/run-key.ts";
import type { Launch } from "./starter.ts";

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

export function termsOf(request: RunRequest, startedAtMs: number): RunTerms {
  const { work, timeLimitMs, killGraceMs, outputLimitBytes } = request;
  const name = work.kind === "command" ? (work.argv[0] ?? "") : `the ${work.kind}`;
  const program = name.slice(0, PROGRAM_LENGTH_MAX);
  return { program, startedAtMs, timeLimitMs, killGraceMs, outputLimitBytes };
}

const PROGRAM_LENGTH_MAX = 200; // in messages
