import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { imageBounds, isShort, withinBounds } from "./image-bounds.ts";

describe("the free space that no image may use", () => {
  const reserve = { reserveBytes: 1_000, reserveFiles: 100 };
  const large = { bsize: 10, blocks: 1_000_000, bavail: 1_000_000, files: 50_000, ffree: 50_000 };
  const small = { bsize: 10, blocks: 640, bavail: 640, files: 640, ffree: 640 };
  const cases = [
    ["a large disk with the reserve", { ...large, bavail: 100, ffree: 100 }, false],
    ["a large disk with less", { ...large, bavail: 99 }, true],
    ["a large disk with fewer inodes", { ...large, ffree: 99 }, true],
    ["a small disk with a 32nd", { ...small, bavail: 20, ffree: 20 }, false],
    ["a small disk with less", { ...small, bavail: 19 }, true],
    ["a small disk with fewer inodes", { ...small, ffree: 19 }, true],
    ["a file system that counts no inodes", { ...large, files: 0, ffree: 0 }, false],
  ] as const;
  for (const [name, space, isTooLittle] of cases) {
    test(name, () => expect(isShort(space, reserve)).toBe(isTooLittle));
  }
});

describe("work in a directory", () => {
  let directory: string;
  beforeEach(() => (directory = mkdtempSync(join(tmpdir(), "busbar-bounds-"))));
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  const write = (name: string, bytes = 0): void =>
    writeFileSync(join(directory, name), Buffer.alloc(bytes, "x"));
  const aborted = (signal: AbortSignal) =>
    new Promise<string>((resolve) =>
      signal.addEventListener("abort", () => resolve("aborted"), { once: true }),
    );

  test("is aborted when the directory is too large, or has too many files", async () => {
    const large = await withinBounds(directory, { ...imageBounds, bytesMax: 100_000 }, (signal) => {
      write("large", 200_000);
      return aborted(signal);
    });
    expect([large.result, large.excess]).toEqual(["aborted", "image"]);
    const many = await withinBounds(directory, { ...imageBounds, filesMax: 3 }, (signal) => {
      for (const name of ["a", "b", "c"]) write(name);
      return aborted(signal);
    });
    expect([many.result, many.excess, many.use.files]).toEqual(["aborted", "image", 4]);
  });

  test("that ends before anybody has looked is measured, too", async () => {
    const bounds = { ...imageBounds, bytesMax: 100_000 };
    const work = async (): Promise<void> => write("large", 200_000);
    expect((await withinBounds(directory, bounds, work)).excess).toBe("image");
  });

  test("within the bounds returns its result and size", async () => {
    const work = async (): Promise<string> => {
      write("one", 8_192);
      return "done";
    };
    const grown = await withinBounds(directory, imageBounds, work);
    expect(grown).toMatchObject({ result: "done", use: { files: 1 }, excess: undefined });
    expect(grown.use.bytes).toBeGreaterThanOrEqual(8_192);
  });
});
