import { execFileSync } from "node:child_process";
import { cpus, hostname, totalmem } from "node:os";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { formatWorker, parseProbe } from "./probe.ts";
import { NOTE_WORKER, PROBE } from "./scripts/probe-script.ts";

const installation = `test-${process.pid}`;
const told = [
  "host blue",
  "machine 0123456789abcdef0123456789abcdef",
  "boot 5f1c",
  "parent 4711 (gs worker) S 1 4711 4711 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 8 0 998877 1 2",
  "cpus 8",
  "memory-kib 16384",
  "system Linux 6.1.0 x86_64",
  "shell /bin/dash",
  "setsid /usr/bin/setsid",
  "directory /var/tmp/busbar-0/abc",
  "all",
];
const probe = (...lines: readonly string[]) => parseProbe(`${lines.join("\n")}\n`);
const without = (word: string): string[] => told.filter((line) => !line.startsWith(`${word} `));

describe("the probe of a machine", () => {
  test("reports all facts", () => {
    expect(probe(...told)).toMatchObject({
      hostname: "blue",
      bootId: "5f1c",
      process: "5f1c 4711 998877",
      system: "Linux 6.1.0 x86_64",
      amounts: { cpu: 8, memory: 16_384 * 1_024 },
      place: { shell: "/bin/dash", setsid: "/usr/bin/setsid", directory: "/var/tmp/busbar-0/abc" },
    });
  });

  test("reports the likeness of its process, and the nodes of other workers there", () => {
    const { likeness } = probe(...told);
    expect(likeness).toMatch(/^[0-9a-f]{16}$/);
    expect(probe("in /srv/a", ...told).likeness).not.toBe(likeness);
    expect(probe("command 61 00", "command 62", ...told).likeness).not.toBe(
      probe("command 61 00", ...told).likeness,
    );
    const named = ["named gs-blue 0123 5f1c 4711 998877", "named broken", "named x y"];
    expect(probe(...named, ...told).named).toEqual([
      { name: "gs-blue", likeness: "0123", process: "5f1c 4711 998877" },
    ]);
  });

  test("another machine id, or another host name, means another machine", () => {
    const { identity } = probe(...told);
    expect(probe(...told).identity).toBe(identity);
    expect(probe(...without("machine"), "all").identity).not.toBe(identity);
    expect(probe("host green", ...without("host")).identity).not.toBe(identity);
  });

  const limits: readonly [lines: readonly string[], cpu: number, memory: number][] = [
    [[], 8, 16_777_216],
    [["cpu-max max 100000", "memory-max max"], 8, 16_777_216],
    [["cpu-max 150000 100000"], 1.5, 16_777_216],
    [["cpu-max 99900000 100000"], 8, 16_777_216],
    [["memory-max 1048576"], 8, 1_048_576],
    [["memory-max 99999999999999999999"], 8, 16_777_216],
  ];
  test.each(limits)("control groups reduce the capacity: %j", (lines, cpu, memory) => {
    expect(probe(...lines, ...told).amounts).toEqual({ cpu, memory });
  });

  test("a machine that cannot run tasks is refused with the missing programs", () => {
    const lacking = ["missing setsid", "missing base64", ...told];
    expect(() => probe(...lacking)).toThrow(/lacks programs .*: setsid, base64/);
    expect(() => probe(...without("directory"))).toThrow("/var/tmp, /tmp or /dev/shm");
    expect(() => parseProbe("")).toThrow("/bin/sh");
    expect(() => probe("host blue")).toThrow("/bin/sh");
  });
});

describe("this machine", () => {
  afterAll(() => {
    rmSync(here.place.directory, { recursive: true, force: true });
  });
  const ask = () => parseProbe(execFileSync("/bin/sh", ["-c", PROBE, installation]).toString());
  const here = ask();

  test("remembers the process that was the worker of a node", () => {
    const file = join(here.place.directory, "gs-blue-2.worker");
    execFileSync("/bin/sh", ["-c", NOTE_WORKER, file, formatWorker(here)]);
    const { named, likeness, process: asking } = ask();
    expect(named).toEqual([{ name: "gs-blue-2", likeness, process: asking }]);
    expect(likeness).toBe(here.likeness);
    rmSync(file);
  });

  test("describes itself", () => {
    expect(here.hostname).toBe(hostname());
    expect(here.amounts.cpu).toBeLessThanOrEqual(cpus().length);
    expect(here.amounts.cpu).toBeGreaterThan(0);
    expect(here.amounts.memory).toBeLessThanOrEqual(totalmem());
    expect(here.amounts.memory).toBeGreaterThan(0);
    expect(here.process.split(" ")[1]).toBe(String(process.pid));
    expect(here.place.directory).toMatch(new RegExp(`^/.*/busbar-\\d+/${installation}$`));
  });

  test("describes itself the same way again", () => {
    expect(ask()).toEqual(here);
  });
});
