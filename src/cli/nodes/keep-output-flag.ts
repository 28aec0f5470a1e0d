import { Option } from "commander";
import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { KeepOutputFlag } from "../context.ts";
import { duration, size } from "../flags.ts";

/** "50000,20GiB,30d": the number of outputs of ended tasks, their total size, their age. */
export const keepOutputFlag = (): Option =>
  new Option(
    "--keep-output <bounds>",
    "keep output of ended tasks: how many, how much, how long, e.g. 50000,20GiB,30d (default: 10000,1GiB,7d)",
  ).argParser(parseKeepOutput);

function parseKeepOutput(text: string): KeepOutputFlag {
  const bounds: { runsMax?: number; bytesMax?: number; ageMsMax?: number } = {};
  for (const part of text.split(",")) {
    const [name, value] = readBound(part);
    if (name in bounds) throw wrong(part, "repeats a kind of limit");
    bounds[name] = value;
  }
  return {
    runsMax: bounds.runsMax ?? limits.outputKeptRunsMax,
    bytesMax: bounds.bytesMax ?? limits.outputKeptBytesMax,
    ageMsMax: bounds.ageMsMax ?? limits.outputKeptMsMax,
  };
}

function readBound(part: string) {
  if (/^\d{1,15}$/.test(part)) {
    const runs = Number(part);
    if (runs > limits.outputKeptRunsLimit)
      throw wrong(part, `is more than ${limits.outputKeptRunsLimit} outputs`);
    return ["runsMax", runs] as const;
  }
  if (/^[\d.]+[kmgtp]?i?b$|^[\d.]+[KMGTPkgtp]$/i.test(part) && !/^[\d.]+m$/.test(part))
    return ["bytesMax", size("--keep-output")(part)] as const;
  if (/^[\d.]+(?:ms|[dhms])/.test(part))
    return ["ageMsMax", duration("--keep-output")(part)] as const;
  throw wrong(part, "is neither a number of outputs (50000), nor a size (20GiB), nor a time (30d)");
}

const wrong = (part: string, why: string) => invalid("--keep-output", `"${part}" ${why}`);
