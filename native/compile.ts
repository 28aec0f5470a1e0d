// Compiles the native launcher, and the program that gives a run its client's input or terminal. `node native/compile.ts` is part of `npm run build`: it uses the C
// compiler of this machine, and a machine without one uses the launcher in Perl instead.
// `node native/compile.ts all [DIR]` (`npm run build:launchers`) makes static ones for the package, for x64
// and arm64, with zig. Without zig the package has those of this machine.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, renameSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

import {
  attachPath,
  launcherPath,
} from "../src/agent/executors/process/launchers/find-launcher.ts";

const root = process.argv[3] ?? dirname(import.meta.dirname);
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

/** Python's package of zig, or a zig of one's own; undefined: neither. */
function findZig(): readonly [command: string, ...args: string[]] | undefined {
  const python = process.env["PYTHON"] ?? "python3";
  const candidates = [[python, "-m", "ziglang"] as const, ["zig"] as const];
  return candidates.find(([command, ...args]) => {
    const tried = spawnSync(command, [...args, "version"], { stdio: "ignore" });
    return tried.status === 0;
  });
}

const NO_ZIG = `busbar: there is no zig, so the package has no native launcher for processors other than ${process.arch}: agents there will use the one in Perl. For all:
  python3 -m venv ~/zig && ~/zig/bin/pip install ziglang
  PYTHON=~/zig/bin/python3 npm pack
`;

function compileAll(): void {
  const zig = findZig();
  if (zig === undefined) {
    process.stderr.write(NO_ZIG);
    return compileStaticHere();
  }
  const [command, ...args] = zig;
  for (const [arch, target] of Object.entries(TARGETS)) {
    for (const { source, pathOf } of PROGRAMS) {
      const to = pathOf(root, arch);
      compile(source, to, command, [...args, "cc", "-target", target, "-static", "-s"]);
      process.stdout.write(`${to}\n`);
    }
  }
}

/** For machines with another C library, too, where this one's compiler can do that. */
function compileStaticHere(): void {
  if (process.platform !== "linux") return;
  try {
    for (const { source, pathOf } of PROGRAMS) {
      compile(source, pathOf(root), C_COMPILER, ["-static", "-s"]);
    }
  } catch {
    tryToCompileHere();
  }
}

if (import.meta.main && process.argv[2] === "all") compileAll();
else if (import.meta.main) tryToCompileHere();
