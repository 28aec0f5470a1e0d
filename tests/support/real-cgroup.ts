import { mkdtempSync, readdirSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";

import type { Controller } from "../../src/agent/executors/process/cgroups/cgroups.ts";
import { ownGroupOf, RunCgroups } from "../../src/agent/executors/process/cgroups/cgroups.ts";
import { eventually } from "../../src/testing/eventually.ts";

const own = ownGroupOf({
  mounts: readFileSync("/proc/self/mountinfo", "latin1"),
  own: readFileSync("/proc/self/cgroup", "latin1"),
});

/** Why tests cannot use control groups of this machine; undefined: they can, for these controllers. */
export function whyNoCgroup(...controllers: Controller[]): string | undefined {
  if (own === undefined) return "this machine has no control groups version 2";
  const opened = RunCgroups.open({ own, named: own, tag: `try-${process.pid}`, isTrial: true });
  if (typeof opened === "string") return opened;
  return controllers.map((one) => opened.whyNot(one)).find((why) => why !== undefined);
}

/** A group for one test, below that of the tests. */
export function makeCgroup(): string {
  if (own === undefined) throw new Error("no control groups");
  return mkdtempSync(join(own, "busbar-test-"));
}

/** Removes a group and its empty subgroups, as soon as their last processes have ended. */
export async function removeCgroup(path: string): Promise<void> {
  const groupsIn = (at: string): string[] =>
    readdirSync(at, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => join(at, name));
  const remove = (at: string): void => {
    for (const inner of groupsIn(at)) remove(inner);
    rmdirSync(at);
  };
  await eventually(
    () => {
      try {
        remove(path);
        return true;
      } catch {
        return false;
      }
    },
    { what: `the control group ${path} to be empty` },
  );
}
