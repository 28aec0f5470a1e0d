import { afterEach, beforeEach, expect, test } from "vitest";
import { aNexusBed, JOBS, type Line } from "../testing/nexus-bed.ts";
import { at, OldPrograms } from "../testing/old-programs.ts";

// The events that kube-apiserver sends to a watch with a selector: an object that begins to match is added, and one that no longer matches
// is deleted.
let bed: Awaited<ReturnType<typeof aNexusBed>>;
let tree: OldPrograms;
beforeEach(async () => {
  bed = await aNexusBed();
  tree = new OldPrograms(bed.send);
});
afterEach(() => bed.close());

const GROUPS = at("Jobgroup");
const MERGE = { "content-type": "application/merge-patch+json" };

const label = async (url: string, labels: Readonly<Record<string, string | null>>) =>
  expect((await bed.send("PATCH", url, { metadata: { labels } }, MERGE)).status).toBe(200);

const watchFrom = async (url: string, query: string) => {
  const { body } = await bed.get(`${url}?${query}`);
  const { resourceVersion } = body["metadata"] as { resourceVersion: string };
  const path = `${url}?watch=true&${query}&resourceVersion=${resourceVersion}`;
  return { path, seen: await bed.watch(path) };
};

const told = ({ lines }: { readonly lines: readonly Line[] }) =>
  lines.map(({ type, object }) => {
    const { labels } = object.metadata as unknown as { labels: Record<string, string> };
    return `${type} ${labels["nexus/display_name"]} ${labels["tier"] ?? "-"}`;
  });

test("changed labels add an object to a selection and delete it, with the labels it had", async () => {
  await tree.makeGroup("night");
  await tree.makeGroup("day");
  const { path, seen } = await watchFrom(GROUPS, "labelSelector=tier%3Dgold");
  const night = at("Jobgroup", ["night"]);
  await label(night, { tier: "silver" });
  await label(night, { tier: "gold" });
  await label(night, { tier: "gold", more: "1" });
  await label(at("Jobgroup", ["day"]), { tier: "silver" });
  await label(night, { tier: null });
  await label(night, { tier: "gold" });
  expect((await bed.send("DELETE", night)).status).toBe(200);
  await bed.tells(seen, 5);
  const all = [
    "ADDED night gold",
    "MODIFIED night gold",
    "DELETED night gold",
    "ADDED night gold",
    "DELETED night gold",
  ];
  expect(told(seen)).toEqual(all);
  const versions = seen.lines.map(({ object }) => Number(object.metadata.resourceVersion));
  expect(versions).toEqual([...new Set(versions)].toSorted((a, b) => a - b));
  // The same for a client that connects later and resumes in between.
  const second = seen.lines[1]?.object.metadata.resourceVersion;
  const later = await bed.watch(path.replace(/resourceVersion=\d+/, `resourceVersion=${second}`));
  await bed.tells(later, 3);
  expect(later.lines.map(({ type }) => type)).toEqual(["DELETED", "ADDED", "DELETED"]);
});

test("the label of a site follows its work, and an edge's label follows its agent", async () => {
  await tree.startEdgeAgent("edge-10");
  await tree.makeGroup("G");
  const query = "labelSelector=jobgroups.jobgroup.intel.com%3DG";
  const { seen } = await watchFrom(at("SiteDC"), query);
  const spec = { jobId: 1, powerNeeded: 100 };
  await tree.post("Job", ["G", "job-1"], { spec });
  await bed.tells(seen, 1);
  expect((await bed.send("DELETE", at("Job", ["G", "job-1"]))).status).toBe(200);
  await bed.tells(seen, 2);
  expect(told(seen)).toEqual(["ADDED edge-10 -", "DELETED edge-10 -"]);
});

test("an object is added and deleted by its status, and other objects cause no events", async () => {
  await tree.startEdgeAgent("edge-10");
  await tree.makeGroup("G");
  const make = (name: string) => tree.post("Job", ["G", name], { spec: { powerNeeded: 100 } });
  await make("job-1");
  await make("job-2");
  const done = await watchFrom(JOBS, "fieldSelector=status.state.percentCompleted%3D100");
  const open = await watchFrom(JOBS, "fieldSelector=status.state.percentCompleted%3D0");
  const info = ["edge-10", "edge-10", "job-1-edge-10"];
  const state = { startTime: 1, endTime: 1 };
  await tree.putStatus("JobInfo", info, { ...state, progress: 0 });
  await tree.putStatus("JobInfo", info, { ...state, progress: 100 });
  await bed.tells(done.seen, 1);
  expect(told(done.seen)).toEqual(["ADDED job-1 -"]);
  expect((await bed.send("DELETE", at("Job", ["G", "job-1"]))).status).toBe(200);
  await bed.tells(done.seen, 2);
  expect(told(done.seen)).toEqual(["ADDED job-1 -", "DELETED job-1 -"]);
  const types = told(open.seen).filter((line) => line.includes("job-1"));
  expect(types.at(-1)).toBe("DELETED job-1 -");
  expect(types.filter((line) => line.startsWith("DELETED"))).toHaveLength(1);
});
