import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { silentLogger } from "../../testing/silent-logger.ts";
import { createRemover } from "./remover.ts";

let directory: string;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), "busbar-remover-"))));
afterEach(() => {
  spawnSync("rm", ["-rf", directory]);
  rmSync(directory, { recursive: true, force: true });
});

const inShell = (script: string): void => {
  const { status, stderr } = spawnSync("/bin/sh", ["-c", script], {
    cwd: directory,
    encoding: "utf8",
  });
  expect([status, stderr]).toEqual([0, ""]);
};

async function remove(path: string): Promise<void> {
  const trash = join(directory, "trash");
  const remover = createRemover(trash, silentLogger);
  remover.remove(join(directory, path));
  await remover.idle();
  const [life = ""] = readdirSync(trash);
  expect(existsSync(join(directory, path))).toBe(false);
  expect(readdirSync(join(trash, life))).toEqual([]);
}

test("removes directories that lie deeper than any path can name", async () => {
  const steps = "i=0; while [ $i -lt 60 ]; do mkdir $name && cd $name || exit; i=$((i+1)); done";
  const name = `name=${"d".repeat(50)}`;
  inShell(`${name}; mkdir below; cd below; ${steps}; echo x >file`);
  inShell(`${name}; mkdir run; top=$PWD; cd run; ${steps}; mv "$top/below" .`);
  await remove("run");
});

test("removes directories that their owner made read-only", async () => {
  mkdirSync(join(directory, "run"));
  inShell(
    "mkdir run/module; echo x >run/module/file; chmod 0500 run/module; mkdir -m 0 run/closed",
  );
  await remove("run");
});
