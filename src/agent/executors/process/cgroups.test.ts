import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { eventually } from "../../../../tests/support/eventually.ts";
import { ownGroupOf, RunCgroups } from "./cgroups.ts";

const HYBRID = [
  "25 1 0:22 / /sys/fs/cgroup rw - tmpfs tmpfs rw",
  "26 25 0:23 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate",
].join("\n");
const UNIFIED = "30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw";
const CONTAINER = "30 25 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw";
const V1 = "31 25 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu";

describe("the agent's own group", () => {
  test.each([
    [
      "unified",
      UNIFIED,
      "0::/system.slice/busbar.service",
      "/sys/fs/cgroup/system.slice/busbar.service",
    ],
    ["hybrid", HYBRID, "4:memory:/x\n0::/a", "/sys/fs/cgroup/unified/a"],
    ["in the root", HYBRID, "0::/", "/sys/fs/cgroup/unified/"],
    ["in a container", CONTAINER, "0::/docker/abc/in", "/sys/fs/cgroup/in"],
    ["outside of what is mounted", CONTAINER, "0::/../other", "/sys/fs/cgroup"],
    ["version 1 only", V1, "4:memory:/x", undefined],
    ["version 2 is not mounted", V1, "0::/", undefined],
  ])("%s", (_, mounts, own, wanted) => {
    expect(ownGroupOf({ mounts, own })).toBe(wanted);
  });
});

describe("groups of runs in a tree of files", () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "busbar-cgroups-"));
  });
  afterEach(() => {
    rmSync(root, { recursive: true, force: true });
  });

  test("without version 2, without delegation and with an old kernel it says why there are none", () => {
    expect(RunCgroups.open(undefined, "t")).toMatch(/no control groups version 2/);
    expect(RunCgroups.open(join(root, "file", "below"), "t")).toMatch(/no cgroup.kill/);
    writeFileSync(join(root, "plain"), "");
    expect(RunCgroups.open(join(root, "plain"), "t")).toMatch(
      /not delegated to this user \(ENOTDIR\)/,
    );
  });

  test("what is written where, and what is read from where", () => {
    const directory = join(root, "busbar-t");
    mkdirSync(join(directory, "probe"), { recursive: true });
    writeFileSync(join(directory, "probe", "cgroup.kill"), "");
    const groups = RunCgroups.open(root, "t");
    if (typeof groups === "string") throw new Error(groups);
    const path = groups.create("17.3.1");
    expect(path).toBe(join(directory, "17.3.1"));
    writeFileSync(join(path, "cgroup.kill"), "");
    writeFileSync(join(path, "cgroup.events"), "populated 1\nfrozen 0\n");
    writeFileSync(join(path, "cgroup.procs"), "12\n13\n");
    expect(groups.isPopulated("17.3.1")).toBe(true);
    expect(groups.pidsOf("17.3.1")).toEqual([12, 13]);
    groups.kill("17.3.1");
    expect(readFileSync(join(path, "cgroup.kill"), "latin1")).toBe("1");
    expect(groups.remove("17.3.1")).toBe(false); // files are in it, as processes would be
    expect(groups.keys()).toContain("17.3.1");
    expect(groups.remove("18.0.1")).toBe(true);
    expect(groups.isPopulated("18.0.1")).toBe(false);
  });
});

const here = ownGroupOf({
  mounts: readFileSync("/proc/self/mountinfo", "latin1"),
  own: readFileSync("/proc/self/cgroup", "latin1"),
});
const real = RunCgroups.open(here, `test-${process.pid}`);

test.skipIf(typeof real === "string")(
  `a kill ends what called setsid, too${typeof real === "string" ? ` (skipped: ${real})` : ""}`,
  async () => {
    if (typeof real === "string") return;
    const path = real.create("1.0.1");
    const enter = `echo 0 >${path}/cgroup.procs; setsid sleep 1000 & exec sleep 1000`;
    const child = spawn("/bin/sh", ["-c", enter], { stdio: "ignore" });
    await eventually(() => real.pidsOf("1.0.1").length === 2, { what: "both to be in it" });
    real.kill("1.0.1");
    await eventually(() => !real.isPopulated("1.0.1"), { what: "both to be gone" });
    expect(child.exitCode).toBeNull();
    expect(real.remove("1.0.1")).toBe(true);
    real.close();
    expect(existsSync(join(path, ".."))).toBe(false);
  },
);
