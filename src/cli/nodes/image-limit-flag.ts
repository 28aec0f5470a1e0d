import { Option } from "commander";
import { limits } from "../../limits.ts";
import { formatBytes } from "../../lib/units.ts";
import { size } from "../flags.ts";

const FLAG = "--image-limit";

/** For images larger than any that the agent would otherwise unpack. */
export const imageLimitFlag = (): Option =>
  new Option(
    `${FLAG} <size>`,
    `fail tasks whose image uses more of the disk than this (default: ${formatBytes(limits.oneImageBytesMax)})`,
  ).argParser(size(FLAG));
