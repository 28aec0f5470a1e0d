import type { CgroupFiles } from "./cgroup-files.ts";
import { systemFiles } from "./cgroup-files.ts";
import { ownGroupOf, RunCgroups } from "./cgroups.ts";
import type { Enforce, Enforcement } from "./enforcement.ts";
import { decideEnforcement } from "./enforcement.ts";

/** The limits that an agent of this machine enforces. Throws `invalid_argument` when it cannot enforce a named one. */
export function enforcementHere({
  enforce,
  cgroup: named,
  tag,
  files = systemFiles,
  isTrial,
}: {
  readonly enforce: Enforce;
  /** undefined: the group of this process. */
  readonly cgroup?: string | undefined;
  readonly tag: string;
  readonly files?: CgroupFiles | undefined;
  readonly isTrial?: boolean;
}): Enforcement {
  const mounts = files.read("/proc/self/mountinfo") ?? "";
  const own = ownGroupOf({ mounts, own: files.read("/proc/self/cgroup") ?? "" });
  return decideEnforcement(enforce, RunCgroups.open({ own, named, tag, files, isTrial }));
}
