import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { RunRequest } from "../../../ports/executor.ts";
import { withOutputFiles } from "./output-files.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "busbar-output-files-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("a command whose output file cannot be written does not run: exit 126, and a line names the file", () => {
  const outputFiles = { stdout: folder, stderr: "" };
  const request = { cwd: folder, env: {}, id: {}, outputFiles } as unknown as RunRequest;
  const [program = "", ...words] = withOutputFiles(request).before ?? [];
  const ran = spawnSync(program, [...words, "echo", "ran"], { encoding: "utf8" });
  expect([ran.status, ran.stdout]).toEqual([126, ""]);
  expect(ran.stderr).toContain(`busbar: the file for output ${folder} cannot be written\n`);
});
