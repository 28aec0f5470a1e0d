import type { KnownProgram } from "./programs.ts";
import { versionBy } from "./programs.ts";

/** "gcc (Debian 12.2.0-14) 12.2.0": the first number after the parentheses. */
const gnu = (program: string): KnownProgram => ({
  program,
  args: ["--version"],
  // Some systems install another compiler under this name.
  read: (output) =>
    /\bclang\b/i.test(output)
      ? undefined
      : versionBy(program, /^[^(\n]+ \(.*?\) (\d+(?:\.\d+)*)/m)(output),
});

const other = (program: string, pattern: RegExp, args = ["--version"]): KnownProgram => ({
  program,
  args,
  read: versionBy(program, pattern),
});

export const compilers: readonly KnownProgram[] = [
  gnu("gcc"),
  gnu("g++"),
  gnu("gfortran"),
  other("clang", /clang version (\d+(?:\.\d+)*)/),
  other("flang", /flang(?:-new)? version (\d+(?:\.\d+)*)/),
  other("icx", /Compiler (\d+(?:\.\d+)*)/),
  other("ifx", /^ifx \(IFX\) (\d+(?:\.\d+)*)/m),
  other("nvc", /^nvc (\d[\d.-]*)/m),
  other("nvfortran", /^nvfortran (\d[\d.-]*)/m),
  other("nvcc", /release [\d.]+, V(\d+(?:\.\d+)*)/),
  other("hipcc", /HIP version: (\d+(?:\.\d+)*)/),
  other("rustc", /^rustc (\d[\w.+-]*)/m),
  other("go", /^go version go(\d[\w.]*)/m, ["version"]),
];
