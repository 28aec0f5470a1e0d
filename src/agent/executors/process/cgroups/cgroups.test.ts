import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { ownGroupOf, RunCgroups, RunGroup } from "./cgroups.ts";
import {
  decideEnforcement,
  describeEnforcement,
  groupWritesOf,
  processLimitsOf,
} from "./enforcement.ts";
import { FakeCgroupFiles } from "../testing/fake-cgroup-files.ts";

const HYBRID = [
  "25 1 0:22 / /sys/fs/cgroup rw - tmpfs tmpfs rw",
  "26 25 0:23 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate",
].join("\n");
const UNIFIED = "30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw";
const CONTAINER = "30 25 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw";
const V1 = "31 25 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu";

describe("the agent's own group", () => {
  test.each([
    [
      "unified",
      UNIFIED,
      "0::/system.slice/busbar.service",
      "/sys/fs/cgroup/system.slice/busbar.service",
    ],
    ["hybrid", HYBRID, "4:memory:/x\n0::/a", "/sys/fs/cgroup/unified/a"],
    ["in the root", HYBRID, "0::/", "/sys/fs/cgroup/unified/"],
    ["in a container", CONTAINER, "0::/docker/abc/in", "/sys/fs/cgroup/in"],
    ["outside of what is mounted", CONTAINER, "0::/../other", "/sys/fs/cgroup"],
    ["version 1 only", V1, "4:memory:/x", undefined],
    ["version 2 is not mounted", V1, "0::/", undefined],
  ])("%s", (_, mounts, own, wanted) => {
    expect(ownGroupOf({ mounts, own })).toBe(wanted);
  });
});

describe("groups in a tree of files", () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "busbar-cgroups-"));
  });
  afterEach(() => {
    rmSync(root, { recursive: true, force: true });
  });

  const open = (files: FakeCgroupFiles, over: object = {}): RunCgroups => {
    const groups = RunCgroups.open({ own: root, tag: "t", files, ...over });
    if (typeof groups === "string") throw new Error(groups);
    return groups;
  };

  test("controllers are enabled for the group of the agent and the one of its runs", () => {
    const files = new FakeCgroupFiles(root);
    const groups = open(files);
    expect(files.writes).toEqual([
      "cgroup.subtree_control=+memory",
      "busbar-t/cgroup.subtree_control=+memory",
      "cgroup.subtree_control=+cpu",
      "busbar-t/cgroup.subtree_control=+cpu",
    ]);
    expect([groups.whyNot("memory"), groups.whyNot("cpu")]).toEqual([undefined, undefined]);
    expect(groups.keys()).toEqual([]);
  });

  test("an agent that is in the way of the kernel moves aside, with the process that started it", () => {
    class Busy extends FakeCgroupFiles {
      override write(path: string, text: string): void {
        const isOwn = path === join(root, "cgroup.subtree_control");
        if (isOwn && !this.has(join(root, "busbar-agent"))) {
          throw Object.assign(new Error("busy"), { code: "EBUSY" });
        }
        super.write(path, text);
      }
    }
    const files = new Busy(root);
    writeFileSync(join(root, "cgroup.procs"), `${process.ppid}\n${process.pid}\n`);
    expect(open(files).whyNot("memory")).toBeUndefined();
    expect(files.writes.slice(0, 3)).toEqual([
      `busbar-agent/cgroup.procs=${process.ppid}`,
      `busbar-agent/cgroup.procs=${process.pid}`,
      "cgroup.subtree_control=+memory",
    ]);
    const own = join(root, "busbar-agent"); // as a restarted agent finds itself
    expect(open(files, { own }).directory).toBe(join(root, "busbar-t"));
  });

  test("programs that the agent runs as it starts are its own, and those that have ended nobody's", async () => {
    const files = new FakeCgroupFiles(root);
    const child = spawn("sleep", ["60"]);
    try {
      const gone = spawnSync("true").pid;
      writeFileSync(join(root, "cgroup.procs"), `${process.pid}\n${child.pid}\n${gone}\n`);
      expect(open(files).whyNot("memory")).toBeUndefined();
    } finally {
      child.kill();
    }
  });

  test("other processes in the group stay untouched, and the reason names them", () => {
    const files = new FakeCgroupFiles(root);
    writeFileSync(join(root, "cgroup.procs"), "1\n");
    expect(open(files).whyNot("memory")).toBe(`${root} is shared with other processes (1)`);
    expect(files.writes).toEqual([]);
  });

  test("without version 2, delegation, controllers or a new kernel the reason says which is missing", () => {
    const files = new FakeCgroupFiles(root, "pids");
    const text = (over: object) => RunCgroups.open({ own: root, tag: "t", files, ...over });
    expect(text({ own: undefined })).toBe("this machine has no control groups version 2");
    expect(text({ own: "/proc" })).toMatch(/root control group.*--cgroup/);
    expect(text({ named: "/proc/self" })).toMatch(/^\/proc\/self is not delegated .*\(E/);
    mkdirSync(join(root, "busbar-old/probe"), { recursive: true });
    writeFileSync(join(root, "busbar-old/probe/cgroup.events"), "");
    expect(text({ tag: "old" })).toMatch(/older than 5.14/);
    expect(open(files).whyNot("cpu")).toBe(`${root} has no cpu controller of version 2`);
  });

  test("a trial leaves nothing behind and writes nothing", () => {
    const files = new FakeCgroupFiles(root);
    const groups = open(files, { isTrial: true });
    expect(groups.whyNot("memory")).toBeUndefined();
    expect(files.writes).toEqual([]);
    expect(files.list(root)).toEqual([]);
  });

  test("limits, kills, ends by the kernel and removal of one group", () => {
    const files = new FakeCgroupFiles(root);
    const groups = open(files);
    const path = groups.pathOf("17.3.1");
    files.writes.length = 0;
    groups.create(path, [
      ["memory.max", "33554432"],
      ["memory.swap.max", "0"],
    ]);
    const group = new RunGroup(path, files);
    writeFileSync(join(path, "cgroup.procs"), "12\n13\n");
    writeFileSync(join(path, "cgroup.events"), "populated 1\nfrozen 0\n");
    writeFileSync(join(path, "memory.events"), "oom 3\noom_kill 2\noom_group_kill 1\n");
    expect([group.isPopulated, group.pids, group.outOfMemoryKills]).toEqual([true, [12, 13], 2]);
    expect(group.remove()).toBe(false);
    expect(groups.keys()).toEqual(["17.3.1"]);
    group.kill();
    expect(group.remove()).toBe(true);
    expect(group.remove()).toBe(true); // a second removal is no error
    expect(files.writes).toEqual([
      "busbar-t/17.3.1/memory.max=33554432",
      "busbar-t/17.3.1/memory.swap.max=0",
      "busbar-t/17.3.1/cgroup.kill=1",
    ]);
  });

  describe("enforced limits", () => {
    const MIB = 1_024 ** 2;
    const all = (): RunCgroups => open(new FakeCgroupFiles(root));
    const needs = { cpu: 100, memory: 32 * MIB };
    const memory = [
      ["memory.max", String(32 * MIB)],
      ["memory.oom.group", "1"],
      ["memory.swap.max", "0"],
    ];

    test.each([
      ["what can be", "available", needs, [...memory, ["cpu.weight", "10"]]],
      ["memory by name", ["memory"], needs, [...memory, ["cpu.weight", "10"]]],
      ["a quota", ["cpu"], needs, [["cpu.max", "10000 100000"]]],
      ["both", ["memory", "cpu"], needs, [...memory, ["cpu.max", "10000 100000"]]],
      ["nothing was asked for", "available", {}, []],
      ["the least quota", ["cpu"], { cpu: 1 }, [["cpu.max", "1000 100000"]]],
      ["the least weight", "available", { cpu: 1 }, [["cpu.weight", "1"]]],
      ["the most weight", "available", { cpu: 256_000 }, [["cpu.weight", "10000"]]],
    ] as const)("%s", (_, wanted, asked, writes) => {
      expect(groupWritesOf(decideEnforcement(wanted, all()), asked)).toEqual(writes);
    });

    test("an agent that is configured to enforce an unsupported limit is rejected with the reason and a remedy", () => {
      expect(() => decideEnforcement(["memory"], "it has none")).toThrow(
        /^--enforce: memory cannot be enforced here: it has none; .*Delegate=yes/,
      );
      const some = open(new FakeCgroupFiles(root, "cpu"));
      expect(() => decideEnforcement(["cpu", "memory"], some)).toThrow(
        /memory.*no memory controller/,
      );
      expect(decideEnforcement(["cpu"], some).cpu).toEqual({ kind: "quota" });
    });

    test("memory limits of single processes need no control groups", () => {
      const enforcement = decideEnforcement(["process-memory"], "it has none");
      expect(processLimitsOf(enforcement, needs)).toEqual([
        { resource: 2, soft: 32 * MIB, hard: 32 * MIB },
      ]);
      expect(processLimitsOf(enforcement, { cpu: 1 })).toBeUndefined();
      expect(processLimitsOf(decideEnforcement("available", "no"), needs)).toBeUndefined();
      expect(describeEnforcement(enforcement)).toContainEqual({
        name: "process-memory",
        enforced: true,
        by: "RLIMIT_DATA",
      });
    });

    test("facts show which limits are enforced, how, and why not", () => {
      expect(describeEnforcement(decideEnforcement("available", all()))).toEqual([
        { name: "memory", enforced: true, by: "memory.max" },
        { name: "cpu", enforced: true, by: "cpu.weight" },
        { name: "kill", enforced: true, by: "cgroup.kill" },
      ]);
      expect(describeEnforcement(decideEnforcement("available", "no"))).toEqual([
        { name: "memory", enforced: false, why: "no" },
        { name: "cpu", enforced: false, why: "no" },
      ]);
    });
  });
});
