import { fileURLToPath } from "node:url";
import type { Site } from "./site.ts";

/** Compiles one of the small C programs of the bench; returns its path. */
export async function compile(
  site: Site,
  name: "fork-limit" | "rainbow-pairs" | "start-time",
  flags: readonly string[] = [],
): Promise<string> {
  const source = fileURLToPath(new URL(`../native/${name}.c`, import.meta.url));
  const program = site.path(name);
  await site.start("cc", ["-O2", ...flags, "-o", program, source]).done();
  return program;
}
