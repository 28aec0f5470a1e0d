import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { NodeFacts } from "../../core/model/node/node-facts.ts";
import { parseNodeFacts } from "../../core/model/node/node-facts.ts";
import { limits } from "../../limits.ts";
import { offeredAmounts } from "../facts.ts";
import { FakeClock, settle } from "../../testing/fake-clock.ts";
import { Discovery, findFacts, findHardwareInTime } from "./discovery.ts";
import { findHardware, NO_HARDWARE, toFacts } from "./find-facts.ts";
import { createKeptSoftware } from "./kept-software.ts";
import type { FakeMachine } from "./testing/fake-machine.ts";
import { createFakeMachine } from "./testing/fake-machine.ts";
import { silentLogger } from "../../testing/silent-logger.ts";

const warnings: unknown[] = [];
const logger = { ...silentLogger, warn: (fields: unknown) => void warnings.push(fields) };
const random = { fraction: () => 0.5, token: () => "" };
const capacity = { cpu: 4_000, memory: 8e9, license: 2 };

const aMachine = (): FakeMachine =>
  createFakeMachine({
    files: { "/etc/os-release": "ID=ownos\nVERSION_ID=1\n", "/proc/sys/kernel/osrelease": "6.1.0" },
    programs: { mpirun: "mpirun (Open MPI) 4.1.4" },
  });

let clock: FakeClock;
let directory: string;
let discovery: Discovery | undefined;
beforeEach(() => {
  clock = new FakeClock();
  directory = mkdtempSync(join(tmpdir(), "busbar-discovery-"));
  warnings.length = 0;
});
afterEach(() => {
  discovery?.close();
  expect(clock.timers).toBe(0);
  rmSync(directory, { recursive: true, force: true });
});

/** Starts discovery; returns the changes, newest last. */
async function start(machine: FakeMachine): Promise<NodeFacts[]> {
  const changes: NodeFacts[] = [];
  const hardware = await findHardware(machine);
  const kept = createKeptSoftware(directory);
  const one = new Discovery({ machine, hardware, capacity, kept, clock, random, logger });
  discovery = one;
  one.start(() => changes.push(parseNodeFacts(one.json, "facts")));
  return changes;
}

describe("discovery", () => {
  test("facts from files are known at once, facts from programs follow as a change", async () => {
    const machine = aMachine();
    const changes = await start(machine);
    expect(parseNodeFacts(discovery?.json ?? "", "facts")).toEqual({
      cores: 4,
      sockets: 0,
      numa: 0,
      memoryBytes: 8e9,
      gpus: 0,
      others: { license: 2 },
      software: {
        os: [{ name: "ownos", version: "1" }],
        kernel: [{ name: "linux", version: "6.1.0", release: "6.1.0" }],
        arch: [{ name: "x86_64" }],
      },
    });
    await clock.pass(limits.softwareDelayMs - 1);
    expect(machine.asked.filter((what) => what.includes("mpirun"))).toEqual([]);
    await clock.pass(1);
    expect(changes.map(({ software }) => software["mpi"])).toEqual([
      [{ name: "openmpi", version: "4.1.4", path: "/usr/bin/mpirun" }],
    ]);
  });

  test("discovers again after a while, and reports only changes", async () => {
    const machine = aMachine();
    const changes = await start(machine);
    await clock.pass(limits.softwareDelayMs);
    await clock.pass(2 * limits.discoveryIntervalMs);
    expect(machine.asked.filter((what) => what.includes("mpirun"))).toHaveLength(3);
    expect(changes).toHaveLength(1);
    machine.files["/etc/os-release"] = "ID=ownos\nVERSION_ID=2\n";
    await clock.pass(limits.discoveryIntervalMs);
    expect(changes.at(-1)?.software["os"]).toEqual([{ name: "ownos", version: "2" }]);
  });

  test("discovers on request, and once more when requested during discovery", async () => {
    const machine = aMachine();
    const changes = await start(machine);
    discovery?.refresh();
    machine.programs["mpirun"] = "mpirun (Open MPI) 5.0.1";
    discovery?.refresh();
    discovery?.refresh();
    await clock.pass(0);
    expect(machine.asked.filter((what) => what.includes("mpirun"))).toHaveLength(2);
    expect(changes.at(-1)?.software["mpi"]?.[0]?.["version"]).toBe("5.0.1");
  });

  test("the next agent knows discovered software before its own discovery; it ignores a damaged file", async () => {
    await start(aMachine());
    await clock.pass(limits.softwareDelayMs);
    discovery?.close();
    const changes = await start(aMachine());
    expect(parseNodeFacts(discovery?.json ?? "", "facts").software["mpi"]).toHaveLength(1);
    await clock.pass(limits.softwareDelayMs);
    expect(changes).toEqual([]);
    discovery?.close();
    writeFileSync(join(directory, "software.json"), '{"software":{"mpi":[{"name":{}}]}}');
    await start(aMachine());
    expect(parseNodeFacts(discovery?.json ?? "", "facts").software["mpi"]).toBeUndefined();
  });

  test("a failed discovery is logged, and repeated later", async () => {
    const machine = aMachine();
    const changes = await start(machine);
    const well = { ...machine };
    machine.find = () => Promise.reject(new Error("odd"));
    await clock.pass(limits.softwareDelayMs);
    expect([warnings.length, changes.length]).toEqual([1, 0]);
    machine.find = (program) => well.find(program);
    await clock.pass(2 * limits.discoveryIntervalMs);
    expect(changes).toHaveLength(1);
  });

  test("reports nothing once it is closed", async () => {
    const machine = aMachine();
    const changes = await start(machine);
    discovery?.refresh();
    discovery?.close();
    await settle();
    await clock.pass(limits.discoveryIntervalMs);
    expect(changes).toEqual([]);
  });

  test("Hello does not wait for a machine on which discovery is slow", async () => {
    const machine = aMachine();
    machine.read = () => new Promise(() => undefined);
    const found = findHardwareInTime(machine, clock);
    await clock.pass(limits.discoveryMsMax);
    expect(await found).toEqual(NO_HARDWARE);
    expect((await findHardwareInTime(aMachine(), clock)).software["os"]).toHaveLength(1);
  });
});

describe("the sent facts", () => {
  test("stay within the server's limits, however many there are", async () => {
    const many = (count: number, text: string) =>
      Array.from({ length: count }, (_, at) => ({ name: `${text}-${at}`, version: "1.0" }));
    for (const software of [
      { spack: many(20_000, "p"), mpi: many(3, "m") },
      { spack: many(1_000, "x".repeat(500)), mpi: many(3, "m") },
      { spack: many(3, "x".repeat(600)), mpi: many(3, "m") },
    ]) {
      const facts = toFacts(NO_HARDWARE, software);
      expect(parseNodeFacts(JSON.stringify(facts), "facts")).toEqual(facts);
      expect(facts.software["mpi"]).toHaveLength(3);
      expect(facts.software["spack"]?.length).toBeGreaterThan(2);
    }
  });

  test("are found all at once, for callers that wait", async () => {
    const { cores, software } = await findFacts(aMachine(), () => capacity);
    expect([cores, Object.keys(software)]).toEqual([4, ["os", "kernel", "arch", "mpi"]]);
  });
});

describe("the offered capacity", () => {
  const system = { cpu: 8, memory: 16e9 };
  const limited = { cpu: 1.5, memoryBytes: 2e9 };
  const cases: readonly [string, Partial<typeof NO_HARDWARE>, object, object][] = [
    ["all there is", {}, {}, { cpu: 8, memory: 16e9 }],
    ["what control groups leave", { cgroup: limited }, {}, { cpu: 1.5, memory: 2e9 }],
    [
      "never more than there is",
      { cgroup: { cpu: 64, memoryBytes: 1e12 } },
      {},
      { cpu: 8, memory: 16e9 },
    ],
    ["gpus that were found", { gpus: 2 }, {}, { cpu: 8, memory: 16e9, gpu: 2 }],
    [
      "own words win",
      { gpus: 2, cgroup: limited },
      { cpu: 4, gpu: 0, x: 1 },
      { cpu: 4, memory: 2e9, gpu: 0, x: 1 },
    ],
  ];
  for (const [name, hardware, own, want] of cases) {
    test(name, () => {
      const given = own as Record<string, number>;
      expect(offeredAmounts(system, { ...NO_HARDWARE, ...hardware }, given)).toEqual(want);
    });
  }
});
