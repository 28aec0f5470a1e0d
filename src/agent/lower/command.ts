import { spawn } from "node:child_process";

import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";

/** The output and exit of a scheduler's command. */
export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The text for its stdin; undefined: none. */
  readonly input?: string;
  readonly timeoutMs?: number;
  readonly outputBytesMax?: number;
}

/**
 * Runs a program without a shell, in its own process group, so that a timeout kills all of it. Throws `unavailable` when it is missing,
 * takes too long, prints too much or dies by a signal: its effects until then are unknown.
 */
export function runCommand(
  program: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  const { env, input, timeoutMs = limits.lowerCommandMsMax } = options;
  const { outputBytesMax = limits.lowerOutputBytesMax } = options;
  return new Promise((resolve, reject) => {
    const fail = (why: string, cause?: unknown): void => {
      clearTimeout(timer);
      reject(new AppError("unavailable", `${program} ${why}`, { cause }));
    };
    const child = spawn(program, args, { cwd: "/", env, stdio: "pipe", detached: true });
    const giveUp = (why: string): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // The process has ended already.
      }
      fail(why);
    };
    const timer = setTimeout(() => giveUp(`did not answer in ${timeoutMs} ms`), timeoutMs);
    const chunks = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
    let left = outputBytesMax;
    for (const name of ["stdout", "stderr"] as const) {
      child[name].on("data", (data: Buffer) => {
        left -= data.length;
        if (left < 0) giveUp(`printed more than ${outputBytesMax} bytes`);
        else chunks[name].push(data);
      });
    }
    child.on("error", (cause) => fail("cannot be run", cause));
    child.on("close", (exitCode, signal) => {
      clearTimeout(timer);
      if (exitCode === null) return fail(`was ended by ${signal ?? "a signal"}`);
      const text = (name: "stdout" | "stderr"): string => Buffer.concat(chunks[name]).toString();
      resolve({ exitCode, stdout: text("stdout"), stderr: text("stderr") });
    });
    child.stdin.on("error", () => undefined); // the program need not read to the end
    child.stdin.end(input ?? "");
  });
}
