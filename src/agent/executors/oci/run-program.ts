import { spawn } from "node:child_process";

/** The exit and output of an external program. */
export interface ProgramEnd {
  /** 127: it could not be run, and `stderr` says why. */
  readonly code: number;
  /** undefined: it ended by itself. */
  readonly signal: string | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ProgramOptions {
  readonly timeoutMs: number;
  readonly cwd?: string;
  /** Kills it earlier. */
  readonly signal?: AbortSignal;
}

const OUTPUT_MAX = 16_384;

/**
 * Runs a program without a shell and without input, for a bounded time; keeps the end of its output. It leads a process group: children
 * that it left behind would otherwise hold its output open, and this call would never end.
 */
export function runProgram(
  program: string,
  args: readonly string[],
  { timeoutMs, cwd, signal: abort }: ProgramOptions,
): Promise<ProgramEnd> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    const kill = (): void => killGroup(child.pid);
    const timer = setTimeout(kill, timeoutMs);
    abort?.addEventListener("abort", kill);
    if (abort?.aborted === true) kill();
    const release = (): void => {
      clearTimeout(timer);
      abort?.removeEventListener("abort", kill);
    };
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (data: Buffer) => (stdout = endOf(stdout, data)));
    child.stderr.on("data", (data: Buffer) => (stderr = endOf(stderr, data)));
    child.once("error", (error) => {
      release();
      resolve({ code: 127, signal: undefined, stdout, stderr: `${program}: ${error.message}` });
    });
    child.once("close", (code, signal) => {
      release();
      resolve({ code: code ?? 137, signal: signal ?? undefined, stdout, stderr });
    });
  });
}

function killGroup(leader: number | undefined): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error; // it has ended
  }
}

const endOf = (before: string, data: Buffer): string =>
  (before + data.toString()).slice(-OUTPUT_MAX);

/** The message of an errno is the last part of what a program says; anywhere else it may be a name that a task or an image chose. */
const FAULT =
  /: (?:no space left on device|disk quota exceeded|read-only file system|cannot allocate memory|resource temporarily unavailable|too many open files(?: in system)?|input\/output error)\s*$/i;

/** Whether a program failed because of the machine, by its last message: no other image or command would do better here. */
export const saysNodeFault = (message: string): boolean => FAULT.test(message);
