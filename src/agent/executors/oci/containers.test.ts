import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { limits } from "../../../limits.ts";
import { eventually } from "../../../testing/eventually.ts";
import { FakeClock } from "../../../testing/fake-clock.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { Containers } from "./containers.ts";

let directory: string;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), "busbar-look-"))));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

test("an agent that cannot start containers looks again, and says when the reason changes", async () => {
  const clock = new FakeClock();
  const programs = join(directory, "bin");
  mkdirSync(programs);
  const refuse = (says: string): void => {
    const text = `#!/bin/sh\necho ${says} >&2\nexit 1\n`;
    for (const name of ["runc", "skopeo", "umoci", "unshare", "flock", "setsid"]) {
      writeFileSync(join(programs, name), text, { mode: 0o755 });
    }
  };
  refuse("forbidden");
  const containers = new Containers({
    directory: join(directory, "containers"),
    clock,
    logger: silentLogger,
    bootId: "b",
    env: { PATH: programs },
    wanted: { memory: true, cpu: "weight" },
  });
  let changes = 0;
  containers.onFound(() => (changes += 1));
  const why = (): string => JSON.stringify(containers.facts());
  await containers.found;
  expect(why()).toContain("runc cannot start any on this machine: forbidden");
  const lookAgain = async (): Promise<void> => {
    clock.advance(limits.containersLookAgainMs);
    await eventually(() => clock.timers === 1, { what: "another look" });
  };
  await lookAgain();
  expect(changes).toBe(1); // nothing is new
  refuse("busy");
  await lookAgain();
  expect(why()).toContain("runc cannot start any on this machine: busy");
  expect(changes).toBe(2);
  await containers.close();
  expect(clock.timers).toBe(0);
});
