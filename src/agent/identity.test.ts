import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { readAgentKey } from "./identity.ts";

let directory: string;
let tokens = 0;
const random = {
  fraction: () => 0,
  token: (bytes: number) => `${(tokens += 1)}`.repeat(bytes * 2),
};

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "busbar-identity-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

test("a key is made once, readable by its owner only, and no other file is left", () => {
  const home = join(directory, "new");
  const key = readAgentKey(home, random);
  expect(readAgentKey(home, random)).toBe(key);
  expect(statSync(join(home, "agent.key")).mode & 0o777).toBe(0o600);
  expect(readdirSync(home)).toEqual(["agent.key"]);
});

test("a damaged key is rejected with what to do, never replaced", () => {
  writeFileSync(join(directory, "agent.key"), "");
  expect(() => readAgentKey(directory, random)).toThrow(/damaged: delete it/);
});
