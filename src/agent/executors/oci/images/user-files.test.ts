import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { findSpecialUserFile } from "./user-files.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "busbar-root-"));
  mkdirSync(join(root, "etc"));
  spawnSync("mkfifo", [join(root, "fifo")]);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test("none, files, directories and links to files are as they should be", () => {
  expect(findSpecialUserFile(root)).toBeUndefined();
  writeFileSync(join(root, "users"), "");
  symlinkSync("/users", join(root, "etc/passwd"));
  mkdirSync(join(root, "etc/group"));
  expect(findSpecialUserFile(root)).toBeUndefined();
});

// A FIFO of the image, or nothing: links never lead to files of this machine.
const links = [
  ["/fifo", true],
  ["../fifo", true],
  ["../../../../fifo", true],
  ["../missing/../fifo", true],
  ["/etc/../fifo", true],
  ["passwd", false],
  ["/dev/null", false],
  ["../../../../../../dev/null", false],
] as const;
for (const [target, isSpecial] of links) {
  test(`a link to ${target}: ${isSpecial ? "a FIFO" : "none"}`, () => {
    symlinkSync(target, join(root, "etc/passwd"));
    expect(findSpecialUserFile(root)).toBe(isSpecial ? "/etc/passwd" : undefined);
  });
}
