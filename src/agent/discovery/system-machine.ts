import { spawn } from "node:child_process";
import { constants } from "node:fs";
import { access, open, readdir, realpath, stat } from "node:fs/promises";
import { constants as os, machine, setPriority } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import { limits } from "../../limits.ts";
import type { Machine, ProgramBounds } from "./machine.ts";

/** This machine, or the files under `root` as if they were a machine. */
export function createSystemMachine(env: Machine["env"], root = "/"): Machine {
  const at = (path: string): string => join(root, path);
  return {
    env,
    arch: machine(),
    read: (path, bytesMax = limits.machineFileBytesMax) => readBounded(at(path), bytesMax),
    list: async (path) => (await readdir(at(path)).catch((): string[] => [])).sort(),
    stamp: async (path) => {
      const found = await stat(at(path)).catch(() => undefined);
      return found === undefined ? undefined : `${found.mtimeMs} ${found.size} ${found.ino}`;
    },
    find: (program) => findProgram(program, env["PATH"] ?? ""),
    resolve: (path) => realpath(at(path)).catch(() => undefined),
    run: (path, args, bounds = PROGRAM) => runBounded(path, args, env, bounds),
  };
}

const PROGRAM: ProgramBounds = {
  timeoutMs: limits.programMsMax,
  outputBytesMax: limits.programOutputBytesMax,
};

/** Files in /proc have no size: they are read until they end. */
async function readBounded(path: string, bytesMax: number): Promise<string | undefined> {
  // Non-blocking, so that a pipe at this path does not wait for a writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const chunks: Buffer[] = [];
    for (let total = 0; ;) {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(CHUNK_BYTES), 0);
      if (bytesRead === 0) return Buffer.concat(chunks).toString("utf8");
      total += bytesRead;
      if (total > bytesMax) return undefined;
      chunks.push(buffer.subarray(0, bytesRead));
    }
  } catch {
    return undefined;
  } finally {
    await file.close().catch(() => undefined);
  }
}

const CHUNK_BYTES = 64 * 1024;

async function findProgram(program: string, path: string): Promise<string | undefined> {
  for (const folder of path.split(delimiter)) {
    // Relative entries of the search path are skipped: the directory in which the agent happens to run is not part of the machine.
    if (!isAbsolute(folder)) continue;
    const file = join(folder, program);
    const isThere = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere && (await stat(file).catch(() => undefined))?.isFile() === true) return file;
  }
  return undefined;
}

/** Runs with low priority: the tasks of the machine matter more. */
function yieldToWork(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, os.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // The process has ended already.
  }
}

/** No shell, no input, and its own process group, so that a timeout ends all of its processes. */
function runBounded(
  path: string,
  args: readonly string[],
  env: Machine["env"],
  { timeoutMs, outputBytesMax }: ProgramBounds,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(path, args, {
      cwd: "/",
      env,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    yieldToWork(child.pid);
    const texts = { out: "", error: "" };
    let left = outputBytesMax;
    const kill = (): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // The process has ended already.
      }
    };
    const end = (text: string | undefined): void => {
      clearTimeout(timer);
      child.stdout.destroy();
      child.stderr.destroy();
      resolve(text);
    };
    const giveUp = (): void => {
      kill();
      end(undefined);
    };
    const timer = setTimeout(giveUp, timeoutMs);
    for (const name of ["out", "error"] as const) {
      (name === "out" ? child.stdout : child.stderr).on("data", (data: Buffer) => {
        left -= data.length;
        if (left < 0) giveUp();
        else texts[name] += data.toString("utf8");
      });
    }
    child.on("error", () => end(undefined));
    child.on("close", (code) => end(code === 0 ? texts.out + texts.error : undefined));
  });
}
