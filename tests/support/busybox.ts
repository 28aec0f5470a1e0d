import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { whyNotInstalled } from "./debian.ts";

/** Static: images of tests contain nothing else. */
export const BUSYBOX = "/bin/busybox";

/** Why busybox is not available here; undefined when it is. */
export const whyNoBusybox = (): string | undefined =>
  whyNotInstalled({ packages: ["busybox-static"], programs: [BUSYBOX] });

/** A directory with all of its programs, to be the only one in a PATH. The caller removes it. */
export function installBusybox(): string {
  const reason = whyNoBusybox();
  if (reason !== undefined) throw new Error(`there is no busybox for tests: ${reason}`);
  const directory = mkdtempSync(join(tmpdir(), "busbar-busybox-"));
  const { status } = spawnSync(BUSYBOX, ["--install", "-s", directory]);
  if (status !== 0) throw new Error("busybox could not install its programs");
  return directory;
}
