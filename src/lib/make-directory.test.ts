import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { makeDirectory } from "./make-directory.ts";

const root = mkdtempSync(join(tmpdir(), "busbar-directory-"));
afterAll(() => rmSync(root, { recursive: true }));

describe("makeDirectory", () => {
  test("makes all missing directories with access for this user only, and may be called again", () => {
    const directory = join(root, "a", "b", "c");
    makeDirectory(directory);
    makeDirectory(directory);
    for (const each of [directory, join(root, "a")]) {
      expect(statSync(each).mode & 0o777).toBe(0o700);
    }
  });

  test("fails where no directory can be made, instead of trying without end", () => {
    writeFileSync(join(root, "file"), "");
    symlinkSync(join(root, "nowhere"), join(root, "link"));
    expect(() => makeDirectory(join(root, "file"))).toThrow("EEXIST");
    expect(() => makeDirectory(join(root, "file", "below"))).toThrow("ENOTDIR");
    expect(() => makeDirectory(join(root, "link"))).toThrow("EEXIST");
    expect(() => makeDirectory(join(root, "x".repeat(5_000)))).toThrow("ENAMETOOLONG");
    for (const directory of ["/proc/foo", "/proc/foo/bar", "/sys/foo"]) {
      expect(() => makeDirectory(directory)).toThrow(/ENOENT|EPERM|EACCES|EROFS/);
    }
  });
});
