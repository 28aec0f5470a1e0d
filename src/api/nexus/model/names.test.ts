import { expect, test } from "vitest";
import { ALL_KINDS, GROUPS, KINDS, type KindName, servedAt } from "./kinds.ts";
import { hashName, isTreeLabel, pathOf, treeLabels } from "./names.ts";

const vectors: readonly (readonly [KindName, readonly string[], string])[] = [
  ["PowerScheduler", [], "c8a6327552637726b0eee17d3d1a4dce4e5c8fa0"],
  ["Config", [], "3d76abce6944a790e5f663895d75d000f3b05832"],
  ["Inventory", [], "44dc50d6738e7fa8b3bf9355a2b6377ab9ac394d"],
  ["DesiredSiteConfig", [], "2e5de6a3552f9845a064bc62abb1969037d7fb33"],
  ["SchedulerConfig", [], "c8c7e9abb686c8c5e2595b71de654d36f5097530"],
  ["Jobgroup", ["DefaultGroup"], "945d93ed2a7401edb79de859a27659657d40338e"],
  ["Job", ["DefaultGroup", "job-1"], "e8c558cbae23c10f60984e27930c0cc1af3e761d"],
  ["Site", ["edge-10"], "50786547fff78c972afc5369b03c42b7dead90e5"],
  ["Edge", ["edge-10", "edge-10"], "ba0684ea07b2fab83b331ba3b3cbbf4f98e2a92f"],
  ["SiteDC", ["edge-10"], "c63d6eb173313150b0c7a0da3f05cc64ee65ead7"],
  ["EdgeDC", ["edge-10", "edge-10"], "5c672445998bbc8991fdf949f508bc47d18a546b"],
  ["JobInfo", ["edge-10", "edge-10", "job-1-edge-10"], "5cd9fdbdb9515c7ea5cbf90c35f5db69b5189c95"],
];

for (const [kind, path, name] of vectors) {
  test(`the name of ${kind} ${path.join("/")} is the one that old clients compute`, () => {
    expect(hashName(KINDS[kind], path)).toBe(name);
  });
}

test("labels name every ancestor, and give the path", () => {
  const labels = treeLabels(KINDS.Job, ["DefaultGroup", "job-1"]);
  expect(labels).toEqual({
    "nexus/display_name": "job-1",
    "nexus/is_name_hashed": "true",
    "powerschedulers.root.intel.com": "default",
    "configs.config.intel.com": "default",
    "jobgroups.jobgroup.intel.com": "DefaultGroup",
  });
  expect(pathOf(KINDS.Job, "job-1", labels)).toEqual(["DefaultGroup", "job-1"]);
  expect(pathOf(KINDS.JobInfo, "x", {})).toEqual(["default", "default", "x"]);
});

test("only labels of ancestors and names belong to the tree", () => {
  expect(isTreeLabel(KINDS.Job, "jobgroups.jobgroup.intel.com")).toBe(true);
  // The label of a site names the group that it works for, which is no ancestor of it.
  expect(isTreeLabel(KINDS.SiteDC, "jobgroups.jobgroup.intel.com")).toBe(false);
});

test("twelve kinds are served in eleven groups, and statistics also where the README has them", () => {
  expect(ALL_KINDS).toHaveLength(12);
  expect(GROUPS).toHaveLength(11);
  expect(servedAt("jobscheduler.intel.com", "schedulerconfigs")?.kind.kind).toBe("SchedulerConfig");
  expect(servedAt("jobgroup.intel.com", "schedulerconfigs")?.kind.kind).toBe("SchedulerConfig");
  expect(servedAt("jobgroup.intel.com", "jobs")).toBeUndefined();
});
