import type { LogLevel, UpFlags } from "../context.ts";

interface Beside {
  readonly server: string;
  readonly data: string;
  readonly logLevel: LogLevel;
}

/** The command line of the agent that `busbar up` starts beside its server. */
export function agentArgs(flags: UpFlags, { server, data, logLevel }: Beside): readonly string[] {
  const { name, launcher, enforce, cgroup, keepOutput: keep, imageLimit, taskEnv } = flags;
  const args = ["agent", "--server", server, "--name", name, "--data", data];
  args.push("--launcher", launcher);
  if (enforce !== "available") args.push("--enforce", enforce.join(",") || "none");
  if (cgroup !== undefined) args.push("--cgroup", cgroup);
  if (keep !== undefined)
    args.push("--keep-output", `${keep.runsMax},${keep.bytesMax}B,${keep.ageMsMax}ms`);
  if (imageLimit !== undefined) args.push("--image-limit", `${imageLimit}B`);
  for (const [key, value] of Object.entries(taskEnv)) args.push("--task-env", `${key}=${value}`);
  return [...args, "--exit-with-parent", "--log-level", logLevel];
}
