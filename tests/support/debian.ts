import { spawnSync } from "node:child_process";

export interface Wanted {
  readonly packages: readonly string[];
  /** What they bring, by which it is known that they are there. */
  readonly programs: readonly string[];
}

/**
 * Why these are not there; undefined when they are. Installs Debian's packages where they are missing
 * and that is allowed: what is under test must run against the real thing.
 */
export function whyNotInstalled({ packages, programs }: Wanted): string | undefined {
  const isThere = (): boolean =>
    programs.every((path) => spawnSync("test", ["-x", path]).status === 0);
  if (isThere()) return undefined;
  if (process.getuid?.() !== 0) return `needs root to install ${packages.join(", ")}`;
  process.stderr.write(`installing ${packages.join(", ")} for tests…\n`);
  const lock = ["-o", "DPkg::Lock::Timeout=300"];
  const apt = ["install", ...lock, "--yes", "--no-install-recommends", ...packages];
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const options = { env, encoding: "utf8", timeout: 600_000 } as const;
  if (spawnSync("apt-get", apt, options).status !== 0) {
    spawnSync("apt-get", ["update"], options);
    spawnSync("apt-get", apt, options);
  }
  return isThere() ? undefined : `apt-get could not install ${packages.join(", ")}`;
}
