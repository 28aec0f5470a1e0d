import { spawnSync } from "node:child_process";
import {
  ftruncateSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  closeSync,
  readdirSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { measure, measuring } from "./disk-use.ts";

let directory: string;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), "busbar-use-"))));
afterEach(() => void spawnSync("rm", ["-rf", directory]));

const KIB64 = Buffer.alloc(65_536, "x");

test("hard links count once, holes do not, and names need not be text", () => {
  writeFileSync(join(directory, "one"), KIB64);
  linkSync(join(directory, "one"), join(directory, "two"));
  const sparse = openSync(join(directory, "sparse"), "w");
  ftruncateSync(sparse, 2 ** 40);
  closeSync(sparse);
  mkdirSync(join(directory, "below"));
  const name = Buffer.concat([Buffer.from(`${directory}/below/`), Buffer.from([0xff, 0xfe])]);
  writeFileSync(name, KIB64);
  const { bytes, files } = measure(directory);
  expect(files).toBe(5);
  expect(bytes).toBeGreaterThanOrEqual(2 * 65_536);
  expect(bytes).toBeLessThan(3 * 65_536);
});

test("files below directories that are too deep for a path count", () => {
  const name = "d".repeat(200);
  const steps = `mkdir below && cd below; i=0; while [ $i -lt 15 ]; do mkdir ${name} && cd ${name} || exit; i=$((i+1)); done`;
  const move = `top=$PWD; mv below deep; ${steps}; mv "$top/deep" .`;
  const script = `(${steps}; head -c 65536 /dev/zero >file) && (${move})`;
  const { status } = spawnSync("/bin/sh", ["-c", script], { cwd: directory });
  const { bytes, files } = measure(directory);
  expect([status, files]).toEqual([0, 33]);
  expect(bytes).toBeGreaterThanOrEqual(65_536);
});

test("a measurement that ends early leaves no file open", () => {
  for (const name of ["a", "b"]) mkdirSync(join(directory, name));
  const opened = readdirSync("/proc/self/fd").length;
  for (const use of measuring(directory)) if (use.files === 1) break;
  expect(readdirSync("/proc/self/fd").length).toBe(opened);
});

test("of a directory that is missing nothing counts", () => {
  expect(measure(join(directory, "none"))).toEqual({ bytes: 0, files: 0 });
});
