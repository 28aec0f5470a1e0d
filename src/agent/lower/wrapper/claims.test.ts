import { mkdirSync, mkdtempSync, readlinkSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { limits } from "../../../limits.ts";
import { identityOf, readBootId } from "../../proc.ts";
import { FakeClock } from "../../../testing/fake-clock.ts";
import { Claims } from "./claims.ts";
import { PartFiles } from "./part-files.ts";

const KEY = "1.0.1";
let directory: string;
let clock: FakeClock;
let claims: Claims;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "busbar-claims-"));
  clock = new FakeClock();
  const files = new PartFiles(directory);
  mkdirSync(files.of(KEY));
  claims = new Claims(files, clock);
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

const leave = (name: string, lines: readonly string[]): void =>
  writeFileSync(join(directory, "runs", KEY, name), lines.map((line) => `${line}\n`).join(""));
const giveSign = (seconds: number): void => {
  leave("alive", []);
  utimesSync(join(directory, "runs", KEY, "alive"), seconds, seconds);
};

test("a part whose wrapper has not recorded that it runs is unknown", () => {
  expect(claims.stateOf(KEY)).toBe("unknown");
  leave("runner", ["host", readBootId()]); // not complete
  expect(claims.stateOf(KEY)).toBe("unknown");
});

describe("on this machine the kernel shows it", () => {
  const runner = (pid: number, ticks: string): readonly string[] => {
    return ["host", readBootId(), readlinkSync("/proc/self/ns/pid"), String(pid), ticks, "end"];
  };
  test("a process that runs", () => {
    leave("runner", runner(process.pid, identityOf(process.pid)?.startTicks ?? ""));
    expect(claims.stateOf(KEY)).toBe("running");
  });
  test("a process id that now belongs to another process", () => {
    leave("runner", runner(process.pid, "1"));
    giveSign(100);
    expect(claims.stateOf(KEY)).toBe("gone");
  });
});

describe("on another machine signs of life show it", () => {
  beforeEach(() => leave("runner", ["host", "another-boot", "pid:[1]", "1", "1", "end"]));
  test("while they arrive the part runs, whatever the clocks show", async () => {
    for (let at = 0; at < 20; at += 1) {
      giveSign(9_000_000 - at);
      expect(claims.stateOf(KEY)).toBe("running");
      await clock.pass(limits.lowerAliveMs);
    }
  });
  test("without any it is silent, and gone in the end", async () => {
    giveSign(100);
    expect(claims.stateOf(KEY)).toBe("running");
    await clock.pass(2 * limits.lowerAliveMs);
    expect(claims.stateOf(KEY)).toBe("silent");
    await clock.pass(limits.lowerSilentMsMax);
    expect(claims.stateOf(KEY)).toBe("gone");
    giveSign(101);
    expect(claims.stateOf(KEY)).toBe("running");
  });
});
