import { Option } from "commander";
import { invalid } from "../../lib/errors.ts";
import { enforceable, type EnforceFlag } from "../context.ts";
import { notEmpty } from "../flags.ts";

export const enforceFlag = (): Option =>
  new Option(
    "--enforce <names>",
    "limit tasks to what they request: memory, cpu (a quota), process-memory (each process by " +
      "itself, without control groups), several with commas, or none",
  )
    .default("available", "memory, and cpu by weight, where the agent may use control groups")
    .argParser(parseEnforce);

export const cgroupFlag = (): Option =>
  new Option(
    "--cgroup <dir>",
    "create the tasks' control groups here (default: in the agent's own group)",
  ).argParser(absolute("--cgroup"));

export function parseEnforce(text: string): EnforceFlag {
  if (text === "none") return [];
  const names = text.split(",");
  return enforceable.filter((name) => {
    const wrong = names.find((given) => !enforceable.some((known) => known === given));
    if (wrong === undefined) return names.includes(name);
    throw invalid(
      "--enforce",
      `"${wrong}" cannot be enforced; write ${enforceable.join(", ")}, several with commas, or none`,
    );
  });
}

/** As a service an agent may have any working directory. */
const absolute =
  (flag: string) =>
  (text: string): string => {
    const path = notEmpty(flag)(text);
    if (path.startsWith("/")) return path;
    throw invalid(flag, `"${text}" must be an absolute path, like /sys/fs/cgroup/busbar`);
  };
