import { constants } from "node:os";

import { describe, expect, test } from "vitest";

import type { EndNames } from "../end.ts";
import { endOf } from "../end.ts";
import type { CommandOutcome } from "../../../runs/command-outcome.ts";
import { signalName } from "../../../runs/command-outcome.ts";
import { parseOutcomeLine, parseWrapperState } from "./wrapper.ts";

const { EAGAIN, ENOMEM, EMFILE, ENOSPC, EIO, ESTALE, ENOENT, EACCES, E2BIG } = constants.errno;

const STAT = `42 (a) b\u0020(c) S 1 42 42 0 ${"0 ".repeat(14)}777 0 0`;
const outcome = (rest: string) => parseWrapperState(`${STAT}\n${rest}`).outcome;

describe("the state that a wrapper recorded", () => {
  test("an empty file: claimed, by an unknown wrapper", () => {
    expect(parseWrapperState("")).toEqual({
      wrapper: undefined,
      session: undefined,
      outcome: undefined,
    });
    expect(parseWrapperState("42 (sh) S 1 4").wrapper).toBeUndefined();
  });
  test("the wrapper's identity, whatever the name of the program", () => {
    expect(parseWrapperState(`${STAT}\n`).wrapper).toEqual({ pid: 42, startTicks: "777" });
  });
  const cases = [
    ["", undefined],
    ["exit 3\n", undefined],
    ["exit 3\nen", undefined],
    ["exit 3\nend\n", { kind: "exited", exitCode: 3 }],
    ["exit 137\nend\n", { kind: "exited", exitCode: 137 }],
    ["Killed\nexit 137\nend\n", { kind: "signalled", signal: "SIGKILL" }],
    ["Segmentation fault (core dumped)\nexit 139\nend\n", { kind: "signalled", signal: "SIGSEGV" }],
    ["unstarted\nexit 127\nend\n", { kind: "not-executed", why: "not-found" }],
    ["exit 137\n0m0.00s 0m0.01s\n1m0.25s 0m0.5s\nend\n", { kind: "exited", exitCode: 137 }],
    ["/x: 7: Cannot fork\n", { kind: "machine-fault", errno: EAGAIN }],
    ["/x: fork: Resource temporarily unavailable\n", { kind: "machine-fault", errno: EAGAIN }],
  ] as const;
  for (const [rest, want] of cases) {
    test(JSON.stringify(rest), () => expect(outcome(rest)).toEqual(want));
  }
});

describe("the usage that a wrapper measured", () => {
  const usage = (rest: string) => parseWrapperState(`${STAT}\n${rest}`).usage;
  const cases = [
    ["exit 0\nend\n", undefined],
    ["exit 0\n0m0.00s 0m0.01s\n1m0.25s 0m0.5s\n", undefined],
    ["exit 0\n0m0.00s 0m0.01s\n1m0.25s 0m0.500s\nend\n", { cpuUs: 60_750_000 }],
    ["used -\nexit 0\nend\n", undefined],
    ["used 7,9,11,\nexit 0\nend\n", undefined],
    ["used 7,9,11,0\nexit 0\nend\n", { cpuUs: 7, wallUs: 9, maxRssKib: 11, majorFaults: 0 }],
  ] as const;
  for (const [rest, want] of cases) {
    test(JSON.stringify(rest), () => expect(usage(rest)).toEqual(want));
  }
});

describe("the reports of launchers about a command that did not begin", () => {
  const machine = (errno: number) => ({ kind: "machine-fault", errno });
  const work = (why: string) => ({ kind: "not-executed", why });
  const cases = [
    [`unforked ${EAGAIN}`, machine(EAGAIN)],
    [`unforked ${ENOMEM}`, machine(ENOMEM)],
    [`unstarted ${EAGAIN}`, machine(EAGAIN)],
    [`unstarted ${ENOMEM}`, machine(ENOMEM)],
    [`unstarted ${EMFILE}`, machine(EMFILE)],
    [`unstarted ${ENOSPC}`, machine(ENOSPC)],
    [`unstarted ${EIO}`, machine(EIO)],
    [`nowhere ${ESTALE}`, machine(ESTALE)],
    [`nowhere ${ENOENT}`, work("no-directory")],
    [`nowhere ${EACCES}`, work("no-directory")],
    [`unstarted ${ENOENT}`, work("not-found")],
    [`unstarted ${EACCES}`, work("not-executable")],
    [`unstarted ${E2BIG}`, work("too-long")],
    ["unstarted 0", work("stopped")],
  ] as const;
  for (const [line, want] of cases) {
    test(line, () => expect(parseOutcomeLine(line)).toEqual(want));
  }
});

test("signals without a name in Node keep their number", () => {
  expect([signalName(9), signalName(64)]).toEqual(["SIGKILL", "SIG64"]);
});

describe("how a run ended", () => {
  const names = { program: "x", vanished: "gone" };
  const stop = (sent: "SIGTERM" | "SIGKILL" | undefined) =>
    ({ cause: "time-limit", killAtMs: 0, sent }) as const;
  test("a stop outranks any end of the command", () => {
    const signalled = { kind: "signalled", signal: "SIGINT" } as const;
    expect(endOf({ kind: "exited", exitCode: 0 }, stop("SIGTERM"), names)).toEqual({
      kind: "time-limit",
      signal: undefined,
    });
    expect(endOf(signalled, stop("SIGTERM"), names)).toMatchObject({ signal: "SIGINT" });
    expect(endOf(undefined, stop("SIGKILL"), names)).toMatchObject({ signal: "SIGKILL" });
  });
  test("a fault of the machine is a node fault, a missing program or directory of the work is not", () => {
    const end = (outcome: CommandOutcome, own: Partial<EndNames> = {}) =>
      endOf(outcome, undefined, { ...names, ...own });
    const nowhere = { kind: "not-executed", why: "no-directory" } as const;
    const missing = { kind: "not-executed", why: "not-found" } as const;
    expect(end({ kind: "machine-fault", errno: ENOMEM })).toEqual({
      kind: "node-fault",
      message: "this machine has no memory left",
    });
    expect(end(nowhere)).toMatchObject({ kind: "could-not-start" });
    expect(end(nowhere, { ownDirectory: "/data" })).toEqual({
      kind: "node-fault",
      message: "the data directory is missing: /data",
    });
    expect(end(missing)).toMatchObject({ kind: "could-not-start" });
    expect(end(missing, { ownShell: true })).toEqual({
      kind: "node-fault",
      message: "this machine has no /bin/sh",
    });
    expect(endOf({ kind: "machine-fault", errno: ENOMEM }, stop(undefined), names)).toMatchObject({
      kind: "time-limit",
    });
  });
  test("without a stop and without a record the run has vanished", () => {
    expect(endOf(undefined, undefined, names)).toEqual({ kind: "vanished", message: "gone" });
  });
});
