import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually } from "../../testing/eventually.ts";
import { isAlive } from "../../testing/is-alive.ts";
import type { Machine } from "./machine.ts";
import { createSystemMachine } from "./system-machine.ts";

let root: string;
let machine: Machine;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "busbar-machine-"));
  mkdirSync(join(root, "bin"));
  machine = createSystemMachine(
    { PATH: `relative:${root}/none:${root}/bin:/usr/bin:/bin`, GREETING: "hi" },
    root,
  );
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function program(name: string, script: string): string {
  const path = join(root, "bin", name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

const bounds = { timeoutMs: 20_000, outputBytesMax: 1_000 };

test("reads files under a root, up to a size; a missing file is undefined", async () => {
  writeFileSync(join(root, "file"), "text");
  expect(await machine.read("/file")).toBe("text");
  expect(await machine.read("/file", 4)).toBe("text");
  expect(await machine.read("/file", 3)).toBeUndefined();
  expect(await machine.read("/none")).toBeUndefined();
  expect(await machine.read("/bin")).toBeUndefined();
  expect(await machine.list("/")).toEqual(["bin", "file"]);
  expect(await machine.list("/none")).toEqual([]);
  const before = await machine.stamp("/file");
  writeFileSync(join(root, "file"), "longer text");
  expect(await machine.stamp("/file")).not.toBe(before);
  expect(await machine.stamp("/none")).toBeUndefined();
});

test("reads files of the kernel, which have no size", async () => {
  expect(await createSystemMachine({}).read("/proc/self/status")).toMatch(/^Name:/);
});

test("finds executable programs on the search path; follows links on request", async () => {
  const path = program("tool", "true");
  symlinkSync(path, join(root, "bin/alias"));
  writeFileSync(join(root, "bin/data"), "");
  mkdirSync(join(root, "bin/folder"));
  expect(await machine.find("tool")).toBe(path);
  expect(await machine.find("alias")).toBe(join(root, "bin/alias"));
  expect(await createSystemMachine({}).resolve(join(root, "bin/alias"))).toBe(path);
  for (const name of ["data", "folder", "none"]) expect(await machine.find(name)).toBeUndefined();
});

test("runs a program in the root directory, with the environment and no input, and returns its output", async () => {
  const path = program("tool", 'pwd; echo "$GREETING $1"; cat; echo late >&2');
  expect(await machine.run(path, ["a;b"])).toBe("/\nhi a;b\nlate\n");
});

test("a program that fails, prints too much or does not exist has no output", async () => {
  expect(await machine.run(program("fails", "echo 1; exit 3"), [])).toBeUndefined();
  const endless = program("endless", "while :; do echo 0123456789; done");
  expect(await machine.run(endless, [], bounds)).toBeUndefined();
  expect(await machine.run(join(root, "bin/none"), [])).toBeUndefined();
});

test("ends a program that takes too long, with all its children", async () => {
  const pids = join(root, "pids");
  const path = program("slow", `sleep 1000 & echo "$! $$" >"${pids}"; echo 1.0; wait`);
  expect(await machine.run(path, [], { ...bounds, timeoutMs: 1_000 })).toBeUndefined();
  const left = readFileSync(pids, "utf8").trim().split(" ").map(Number);
  expect(left).toHaveLength(2);
  await eventually(() => left.every((pid) => !isAlive(pid)), { what: "both to end" });
});
