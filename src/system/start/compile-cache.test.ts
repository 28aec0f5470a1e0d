import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ownCacheDirectory } from "./compile-cache.ts";

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
let parent = "";
let directory = "";
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "busbar-cache-"));
  directory = join(parent, `busbar-compile-cache-${process.getuid?.()}`);
});
afterEach(() => rmSync(parent, { recursive: true }));

test("the cache of compiled code is in a directory that others cannot read", () => {
  expect(ownCacheDirectory(parent)).toBe(directory);
  expect(statSync(directory).mode & 0o777).toBe(0o700);
  expect(ownCacheDirectory(parent)).toBe(directory); // again
});

test("no cache is used that others could have written", () => {
  mkdirSync(directory);
  chmodSync(directory, 0o777);
  expect(ownCacheDirectory(parent)).toBeUndefined();
  rmSync(directory, { recursive: true });
  mkdirSync(join(parent, "elsewhere"), { mode: 0o700 });
  symlinkSync("elsewhere", directory);
  expect(ownCacheDirectory(parent)).toBeUndefined();
});

test.skipIf(!isRoot)("no cache of another user is used (as root)", () => {
  mkdirSync(directory, { mode: 0o700 });
  chownSync(directory, NOBODY, NOBODY);
  expect(ownCacheDirectory(parent)).toBeUndefined();
});

test("without a directory for temporary files there is no cache", () => {
  expect(ownCacheDirectory(join(parent, "missing"))).toBeUndefined();
  writeFileSync(directory, "");
  expect(ownCacheDirectory(parent)).toBeUndefined();
});
