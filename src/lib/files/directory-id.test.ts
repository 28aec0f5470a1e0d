import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { identifyDirectory, isSharedDirectory, mountOf } from "./directory-id.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "busbar-directory-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

test("a directory keeps its id when its content changes, and another directory at its path has another id", () => {
  const path = join(directory, "own");
  mkdirSync(path);
  const id = identifyDirectory(path);
  expect(id).toMatch(/^(local|shared) /);
  writeFileSync(join(path, "file"), "x");
  expect(identifyDirectory(path)).toBe(id);
  renameSync(path, join(directory, "earlier"));
  mkdirSync(path);
  expect(identifyDirectory(path)).not.toBe(id);
  expect(identifyDirectory(join(path, "file"))).toBeUndefined();
});

test("finds file systems by their device number, of any number of bits", () => {
  const mounts = [
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw",
    "45 22 0:45 / /home rw - nfs4 files.example:/export/home rw,vers=4.2",
    "46 22 259:300 / /big rw - xfs /dev/nvme9n300 rw",
  ].join("\n");
  expect(mountOf(0x801n, mounts)).toEqual({ type: "ext4", source: "/dev/sda1" });
  expect(mountOf(45n, mounts)).toEqual({ type: "nfs4", source: "files.example:/export/home" });
  const big = (259n << 8n) | (300n & 0xffn) | ((300n & ~0xffn) << 12n);
  expect(mountOf(big, mounts)).toEqual({ type: "xfs", source: "/dev/nvme9n300" });
  expect(mountOf(0x999n, mounts)).toEqual({ type: "", source: "" });
  expect(isSharedDirectory("shared nfs4 files.example:/export/home 7")).toBe(true);
  expect(isSharedDirectory("local m host 7 1")).toBe(false);
});
