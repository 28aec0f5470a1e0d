import { spawnSync } from "node:child_process";

export interface Wanted {
  readonly packages: readonly string[];
  /** Files of these packages that show that they are installed. */
  readonly programs: readonly string[];
}

/**
 * Why these are not available; undefined when they are. Installs missing Debian packages where that is allowed: the tested code must run
 * against the real programs.
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
