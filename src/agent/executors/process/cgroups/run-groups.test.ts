import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { FakeClock } from "../../../../testing/fake-clock.ts";
import { silentLogger } from "../../../../testing/silent-logger.ts";
import { FakeCgroupFiles } from "../testing/fake-cgroup-files.ts";
import { RunCgroups } from "./cgroups.ts";
import { decideEnforcement } from "./enforcement.ts";
import { RunGroups } from "./run-groups.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "busbar-run-groups-"));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

test("a new agent removes the groups of ended runs, and no group of a container", () => {
  const files = new FakeCgroupFiles(root);
  const cgroups = RunCgroups.open({ own: root, tag: "t", files });
  if (typeof cgroups === "string") throw new Error(cgroups);
  const populated = (name: string): string => {
    const path = join(cgroups.directory, name);
    mkdirSync(path);
    writeFileSync(join(path, "cgroup.events"), "populated 1\n");
    return path;
  };
  // As runc 1.1 makes them: beside the group that it was started in.
  const container = populated("busbar-fe00-200d3-10.0.1-0");
  const goesOn = populated("10.0.1");
  const ended = populated("9.0.1");
  const enforcement = decideEnforcement("available", cgroups);
  const groups = new RunGroups({
    enforcement,
    clock: new FakeClock(),
    logger: silentLogger,
    files,
  });
  files.writes.length = 0;
  groups.recover(new Set(["10.0.1"]));
  expect(files.writes).toEqual(["busbar-t/9.0.1/cgroup.kill=1"]);
  expect([container, goesOn, ended].map((path) => existsSync(path))).toEqual([true, true, true]);
  expect(groups.find("10.0.1")).toEqual({ path: goesOn });
  groups.close();
});
