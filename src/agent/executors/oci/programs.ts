import { accessSync, constants, statSync } from "node:fs";
import { isAbsolute, join } from "node:path";

import type { AgentEnv } from "../../runs/task-env.ts";

/**
 * runc starts containers; skopeo copies images; umoci unpacks them; unshare gives each run its own mounts; flock prevents two pulls of one
 * image; setsid keeps the signals of a run from runc.
 */
const NEEDED = ["runc", "skopeo", "umoci", "unshare", "flock", "setsid"] as const;

/** The paths of the programs that start containers. */
export type ContainerPrograms = Readonly<Record<(typeof NEEDED)[number], string>>;

/** Debian installs runc here, and users' search paths often lack it. */
const ALSO = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/** A text: the missing programs. */
export function findContainerPrograms(env: AgentEnv, also = ALSO): ContainerPrograms | string {
  const folders = [...(env["PATH"] ?? "").split(":"), ...also].filter(isAbsolute);
  const found = NEEDED.map((name) => [name, findIn(folders, name)] as const);
  const missing = found.filter(([, path]) => path === undefined).map(([name]) => name);
  if (missing.length > 0) return `there is no ${missing.join(", no ")} on this machine`;
  return Object.fromEntries(found) as unknown as ContainerPrograms;
}

/** Changes when one of them is installed again. */
export const stampsOf = (programs: ContainerPrograms): readonly string[] =>
  Object.values(programs).map((path) => {
    const found = statSync(path, { throwIfNoEntry: false });
    return `${path} ${found?.mtimeMs} ${found?.size}`;
  });

function findIn(folders: readonly string[], name: string): string | undefined {
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
