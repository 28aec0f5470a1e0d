import { describe, expect, test } from "vitest";

import { describeNotLimited, limitsToTry, resourcesOf } from "./group-limits.ts";

describe("the limits of a container", () => {
  const programs = { runc: "", skopeo: "", umoci: "", unshare: "", flock: "", setsid: "" };
  const bare = {
    programs,
    isRootless: false,
    root: "overlay",
    memory: false,
    swap: false,
    cpu: "none",
    isUnified: false,
  } as const;
  const needs = { cpu: 2_000, memory: 5 };
  const devices = [{ allow: false, access: "rwm" }];
  const all = { ...bare, memory: true, swap: true, cpu: "weight" } as const;
  const cases = [
    ["version 1", all, needs, { devices, memory: { limit: 5, swap: 5 }, cpu: { shares: 2_048 } }],
    [
      "version 1, quota",
      { ...all, cpu: "quota" },
      needs,
      {
        devices,
        memory: { limit: 5, swap: 5 },
        cpu: { shares: 2_048, quota: 200_000, period: 100_000 },
      },
    ],
    [
      "version 2: the weight of tasks without containers, and the group ends as a whole",
      { ...all, isUnified: true },
      needs,
      {
        devices,
        memory: { limit: 5, swap: 5 },
        cpu: {},
        unified: { "cpu.weight": "200", "memory.oom.group": "1" },
      },
    ],
    [
      "version 2, quota",
      { ...all, cpu: "quota", isUnified: true },
      { cpu: 500 },
      {
        devices,
        cpu: { quota: 50_000, period: 100_000 },
        unified: { "cpu.weight": "50" },
      },
    ],
    [
      "a kernel that does not limit swap",
      { ...all, swap: false },
      { memory: 5 },
      { devices, memory: { limit: 5 } },
    ],
    ["no limits", { ...bare, isUnified: true }, needs, { devices, unified: {} }],
  ] as const;
  for (const [name, means, asked, resources] of cases) {
    test(name, () => expect(resourcesOf({ means, needs: asked })).toEqual(resources));
  }
});

describe("the limits that an agent tries, best first", () => {
  const shown = (memory: boolean, cpu: "none" | "weight" | "quota"): string[] =>
    limitsToTry({ memory, cpu }).map((at) =>
      [at.memory && "memory", at.swap && "swap", at.cpu].filter(Boolean).join(" "),
    );
  const cases = [
    [
      true,
      "weight",
      ["memory swap weight", "memory weight", "memory swap none", "memory none", "weight", "none"],
    ],
    [true, "none", ["memory swap none", "memory none", "none"]],
    [false, "quota", ["quota", "none"]],
    [false, "none", ["none"]],
  ] as const;
  for (const [memory, cpu, tries] of cases) {
    test(`memory ${memory}, cpu ${cpu}`, () => expect(shown(memory, cpu)).toEqual(tries));
  }
});

describe("why a container has no limits", () => {
  const cases = [
    [["io", "pids"], "have no memory and no cpu controller"],
    [["cpu", "io"], "have no memory controller"],
    [["cpu", "memory"], "runc said so"],
    [undefined, "runc said so"],
  ] as const;
  for (const [controllers, says] of cases) {
    test(`${controllers?.join(" ")}: ${says}`, () =>
      expect(describeNotLimited("runc said so", controllers)).toContain(says));
  }
});
