import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { endOfContainers } from "./ends.ts";

/** The files of an ended container as runc and the kernel leave them. */
describe("a container that a signal ended", () => {
  let directory: string;
  beforeEach(() => (directory = mkdtempSync(join(tmpdir(), "busbar-ends-"))));
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  const V1 = "oom_kill_disable 0\nunder_oom 0\noom_kill ";
  const V2 = "low 0\nhigh 0\nmax 4\noom 1\noom_kill ";
  const cases = [
    ["version 1", "memory", "memory.oom_control", `${V1}1\n`, 137, "out-of-memory"],
    ["version 1, nothing killed", "memory", "memory.oom_control", `${V1}0\n`, 137, "exited"],
    ["version 2", "", "memory.events", `${V2}2\noom_group_kill 1\n`, 137, "out-of-memory"],
    ["version 2, nothing killed", "", "memory.events", `${V2}0\noom_group_kill 0\n`, 137, "exited"],
    ["version 2, without a controller", "", "cgroup.events", "populated 0\n", 137, "exited"],
    ["version 2, another exit code", "", "memory.events", `${V2}1\n`, 1, "exited"],
  ] as const;
  for (const [name, controller, file, text, exitCode, kind] of cases) {
    test(name, () => {
      const group = join(directory, "group");
      mkdirSync(group);
      writeFileSync(join(group, file), text);
      mkdirSync(join(directory, "states/c"), { recursive: true });
      const state = { cgroup_paths: { [controller]: group } };
      writeFileSync(join(directory, "states/c/state.json"), JSON.stringify(state));
      const plan = { containers: [{ id: "c" }], needs: { memory: 5 }, means: { memory: true } };
      writeFileSync(join(directory, "plan.json"), JSON.stringify(plan));
      const end = endOfContainers(directory, join(directory, "states"), {
        kind: "exited",
        exitCode,
      });
      const expected = kind === "exited" ? { kind, exitCode } : { kind, limitBytes: 5 };
      expect(end).toEqual(expected);
    });
  }
});
