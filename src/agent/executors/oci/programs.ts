import { accessSync, constants, statSync } from "node:fs";
import { isAbsolute, join } from "node:path";

import type { AgentEnv } from "../../runs/task-env.ts";

/** Starts containers; copies images; unpacks them; gives each run mounts of its own; keeps two from one pull. */
const NEEDED = ["runc", "skopeo", "umoci", "unshare", "flock"] as const;

/** The paths of what containers are started with. */
export type ContainerPrograms = Readonly<Record<(typeof NEEDED)[number], string>>;

/** Debian has runc here, and users' paths often have not. */
const ALSO = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/** A text: which are missing. */
export function findContainerPrograms(env: AgentEnv, also = ALSO): ContainerPrograms | string {
  const folders = [...(env["PATH"] ?? "").split(":"), ...also].filter(isAbsolute);
  const found = NEEDED.map((name) => [name, findIn(folders, name)] as const);
  const missing = found.filter(([, path]) => path === undefined).map(([name]) => name);
  if (missing.length > 0) return `there is no ${missing.join(", no ")} on this machine`;
  return Object.fromEntries(found) as unknown as ContainerPrograms;
}

/** Change when one of them is installed anew. */
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
