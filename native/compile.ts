// Compiles the native launcher, and the program that gives a run its client's input or terminal. `node native/compile.ts` is part of `npm run build`: it uses the C
// compiler of this machine, and a machine without one uses the launcher in Perl instead.
// `node native/compile.ts all` (`npm run build:launchers`) makes static ones for the package, for x64
// and arm64, with zig: `pip install ziglang`.
import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

import {
  attachPath,
  launcherPath,
} from "../src/agent/executors/process/launchers/find-launcher.ts";

const root = dirname(import.meta.dirname);
const PROGRAMS = [
  { source: join(import.meta.dirname, "launcher.c"), pathOf: launcherPath },
  { source: join(import.meta.dirname, "attach.c"), pathOf: attachPath },
] as const;
const FLAGS = ["-O2", "-Wall", "-Wextra", "-D_FORTIFY_SOURCE=2"];
export const C_COMPILER = process.env["CC"] ?? "cc";
const TARGETS = { x64: "x86_64-linux-musl", arm64: "aarch64-linux-musl" };

/** Under another name first: a launcher that runs cannot be overwritten. */
function compile(source: string, to: string, command: string, args: readonly string[]): void {
  mkdirSync(dirname(to), { recursive: true });
  execFileSync(command, [...args, ...FLAGS, "-o", `${to}.new`, source], { stdio: "pipe" });
  renameSync(`${to}.new`, to);
}

const changedAtMs = (path: string): number =>
  statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** With the C compiler of this machine, unless a program is up to date. */
export function compileHere(): void {
  if (process.platform !== "linux") return;
  for (const { source, pathOf } of PROGRAMS) {
    const to = pathOf(root);
    if (changedAtMs(to) <= changedAtMs(source)) compile(source, to, C_COMPILER, []);
  }
}

/** Why this machine has no native launcher; undefined: it has one, compiled now if need be. */
export function whyNoLauncher(): string | undefined {
  if (process.platform !== "linux") return `this is ${process.platform}, not Linux`;
  try {
    compileHere();
    return undefined;
  } catch (error) {
    const why = error instanceof Error && "code" in error ? String(error.code) : "it failed";
    return `the C compiler ${C_COMPILER} could not be used (${why})`;
  }
}

function tryToCompileHere(): void {
  const why = process.platform === "linux" ? whyNoLauncher() : undefined;
  if (why === undefined) return;
  process.stderr.write(`busbar: no native launcher: ${why}; agents will use the one in Perl\n`);
}

function compileAll(): void {
  const python = process.env["PYTHON"] ?? "python3";
  for (const [arch, target] of Object.entries(TARGETS)) {
    for (const { source, pathOf } of PROGRAMS) {
      const to = pathOf(root, arch);
      compile(source, to, python, ["-m", "ziglang", "cc", "-target", target, "-static", "-s"]);
      process.stdout.write(`${to}\n`);
    }
  }
}

if (import.meta.main && process.argv[2] === "all") compileAll();
else if (import.meta.main) tryToCompileHere();
