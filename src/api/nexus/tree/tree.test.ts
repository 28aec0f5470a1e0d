import { beforeEach, describe, expect, test } from "vitest";
import { noCounts } from "../../../core/model/progress.ts";
import { aJob, aNode, aTask } from "../../native/testing/view-builders.ts";
import { KINDS, type KindName } from "../model/kinds.ts";
import { DISPLAY_NAME, hashName } from "../model/names.ts";
import type { NexusObject } from "../model/object.ts";
import { JOB_ID_LABEL } from "../model/project.ts";
import type { EnergyJobView, ShareTaskView } from "../model/views.ts";
import { Tree } from "./tree.ts";

const POWER = { watts: 20, changes: [], needsNoCommand: true, shares: 0, sharesMax: 1 };
let tree: Tree;
let revision = 0;
beforeEach(() => {
  tree = new Tree(0);
  revision = 10;
  for (const [name, cluster] of [
    ["e1", "north"],
    ["e2", "north"],
    ["e3", "south"],
  ] as const) {
    tree.putNode({ ...aNode({ name, cluster, labels: {} }), power: POWER }, ++revision);
  }
});

const job = (id: string, name: string, group = "g", done = 0): EnergyJobView => ({
  ...aJob({ id, tasks: noCounts() }),
  spec: {
    ...aJob().spec,
    name,
    group,
    labels: { [JOB_ID_LABEL]: id },
    energy: { wattSeconds: 300 },
  },
  energy: { wattSeconds: 300, doneWattSeconds: done, unplacedWattSeconds: 0 },
});

const share = (of: string, index: number, fields: Partial<ShareTaskView> = {}): ShareTaskView => ({
  ...aTask({ id: `${of}.${index}`, jobId: of, index, node: "e1" }),
  assignedAtMs: 5_000,
  startedAtMs: 6_000,
  share: { wattSeconds: 100, doneWattSeconds: 40 },
  ...fields,
});

const put = (task: ShareTaskView): number => {
  tree.putTask(task, ++revision);
  return revision;
};
const asides = (kind: KindName, at = revision): readonly string[] =>
  tree.asides.of(at, kind).map(({ type, object }) => `${type} ${nameOf(object)}`);
const nameOf = ({ metadata }: NexusObject): string | undefined => metadata.labels[DISPLAY_NAME];

describe("shares", () => {
  beforeEach(() => tree.putJob(job("1", "job-1"), ++revision));

  test("are JobInfos of their edge, and entries of the job's execution under the same names", () => {
    put(share("1", 0));
    put(share("1", 1, { node: "e3", startedAtMs: undefined as never }));
    const [info] = tree.sharesOf("1").map((one) => tree.shareObject(one));
    expect(info).toMatchObject({
      spec: { requestorJob: "job-1", requestorJobGroup: "g", powerNeeded: 100 },
      status: { state: { progress: 40, startTime: 6, endTime: 6 } },
      metadata: { name: hashName(KINDS.JobInfo, ["north", "e1", "job-1-e1"]) },
    });
    expect(tree.jobObject(job("1", "job-1", "g", 150)).status.state).toEqual({
      percentCompleted: 50,
      startTime: 1_700_000_000,
      endTime: 0,
      execution: {
        "job-1-e1": { powerRequested: 100, progress: 40, startTime: 6, endTime: 6 },
        "job-1-e3": { powerRequested: 100, progress: 40, startTime: 0, endTime: 0 },
      },
    });
  });

  test("of the same job on the same edge have different names", () => {
    put(share("1", 0, { state: "succeeded", endedAtMs: 9_000 }));
    put(share("1", 1));
    expect(tree.sharesOf("1").map(({ name }) => name)).toEqual(["job-1-e1", "job-1-e1.2"]);
  });

  test("that end early show their finished work, as done: the rest is in others", () => {
    put(share("1", 0, { state: "failed", endedAtMs: 9_000 }));
    const [info] = tree.sharesOf("1").map((one) => tree.shareObject(one));
    expect(info).toMatchObject({ spec: { powerNeeded: 40 }, status: { state: { progress: 100 } } });
  });

  test("that move leave one place and appear in another", () => {
    put(share("1", 0));
    put(share("1", 0, { node: "e2", attempt: 2 }));
    expect(asides("JobInfo")).toEqual(["DELETED job-1-e1"]);
    expect(tree.find(KINDS.JobInfo, "job-1-e1")).toEqual([]);
    expect(tree.find(KINDS.JobInfo, "job-1-e2")).toHaveLength(1);
    // Its old agent may be about to report it.
    const gone = tree.goneShares.get(hashName(KINDS.JobInfo, ["north", "e1", "job-1-e1"]));
    expect(gone?.status.state).toMatchObject({ progress: 100 });
  });

  test("a site below is an edge that works on several, and has power left while it accepts another", () => {
    const power = { ...POWER, watts: 220, edges: 10, sharesMax: 2 };
    const site = { ...aNode({ name: "e1", cluster: "sites", labels: {} }), power };
    const stateOf = () => tree.edgeObject(site).status.state;
    tree.putNode(site, ++revision);
    put(share("1", 0));
    const all = { totalPowerAvailable: 220, freePowerAvailable: 220 };
    expect(stateOf()).toMatchObject({ powerInfo: all, currentJob: "job-1" });
    put(share("1", 1));
    expect(stateOf()).toMatchObject({ powerInfo: { ...all, freePowerAvailable: 0 } });
  });

  test("are the work of an edge, and its counts", () => {
    put(share("1", 0));
    const node = () => tree.nodes.get("e1") ?? expect.fail("it is there");
    expect(tree.edgeObject(node()).status.state).toMatchObject({
      powerInfo: { totalPowerAvailable: 20, freePowerAvailable: 0 },
      currentJob: "job-1",
      currentJobPercentCompleted: 40,
      currentJobPowerRequested: 100,
    });
    const done = { wattSeconds: 100, doneWattSeconds: 100 };
    const end = { state: "succeeded", endedAtMs: 9_000, share: done, revision: 41 } as const;
    put(share("1", 0, end));
    put(share("1", 0, end));
    expect(tree.edgeObject(node()).metadata.resourceVersion).toBe("41");
    expect(tree.edgeObject(node()).status.state).toMatchObject({
      powerInfo: { freePowerAvailable: 20 },
      currentJob: "",
      totalJobsProcessed: 1,
      totalPowerServed: 100,
    });
  });
});

test("a share whose event comes before that of its job appears with the job", () => {
  const at = put(share("7", 0));
  expect(tree.sharesOf("7")).toEqual([]);
  tree.putJob(job("7", "job-7"), ++revision);
  expect(tree.sharesOf("7").map(({ name }) => name)).toEqual(["job-7-e1"]);
  expect(tree.bornAt(hashName(KINDS.JobInfo, ["north", "e1", "job-7-e1"]))).toBe(at);
});

describe("the label of a site", () => {
  const label = (site: string): string | undefined => {
    const known = tree.sites.get(site) ?? expect.fail("it is there");
    return tree.siteDcObject(known).metadata.labels[KINDS.Jobgroup.crd];
  };

  test("is the group of its shares, while there is only one", () => {
    tree.putJob(job("1", "job-1"), ++revision);
    tree.putJob(job("2", "job-2", "h"), ++revision);
    put(share("1", 0));
    expect(label("north")).toBe("g");
    expect(asides("SiteDC")).toEqual(["MODIFIED north"]);
    put(share("2", 0, { node: "e2" }));
    expect(label("north")).toBeUndefined();
    put(share("1", 0, { state: "succeeded", endedAtMs: 9_000 }));
    expect(label("north")).toBe("h");
    expect(label("south")).toBeUndefined();
  });

  test("is not set where an old requester would end itself because of a name", () => {
    tree.putJob(job("1", "my-report-7"), ++revision);
    put(share("1", 0));
    expect(label("north")).toBeUndefined();
  });
});

describe("jobs", () => {
  test("that are no longer retained are removed with their shares, and free their names", () => {
    tree.putJob(job("1", "job-1"), ++revision);
    put(share("1", 0));
    tree.dropJob("1", ++revision);
    expect(asides("Job")).toEqual(["DELETED job-1"]);
    expect(asides("JobInfo")).toEqual(["DELETED job-1-e1"]);
    tree.putJob(job("2", "job-1"), ++revision);
    expect(tree.at(KINDS.Job, ["g", "job-1"])).toMatchObject({ job: { id: "2" } });
    expect(tree.bornAt(hashName(KINDS.Job, ["g", "job-1"]))).toBe(revision);
  });

  test("create their group", () => {
    tree.putJob(job("1", "job-1", "fresh"), ++revision);
    expect(asides("Jobgroup")).toEqual(["ADDED fresh"]);
    tree.putJob(job("2", "job-2", "fresh"), ++revision);
    expect(asides("Jobgroup")).toEqual([]);
  });

  test("of one name in two groups are both found", () => {
    tree.putJob(job("1", "job-1", "g"), ++revision);
    tree.putJob(job("2", "job-1", "h"), ++revision);
    expect(tree.find(KINDS.Job, "job-1")).toHaveLength(2);
    tree.dropJob("1", ++revision);
    expect(tree.find(KINDS.Job, "job-1")).toHaveLength(1);
  });
});

test("numbers that old clients cannot read are shown as their maximum", () => {
  const large = { wattSeconds: 2 ** 40, doneWattSeconds: 0, unplacedWattSeconds: 0 };
  const view = job("1", "job-1");
  const spec = { ...view.spec, energy: { ...view.spec.energy, wattSeconds: 2 ** 40 } };
  const { spec: shown } = tree.jobObject({ ...view, spec, energy: large });
  expect(shown).toMatchObject({ powerNeeded: 2 ** 32 - 1 });
});

test("added and removed nodes cause events in both parts of the tree", () => {
  tree.putNode(aNode({ name: "e9", cluster: "west" }), ++revision);
  expect(asides("Site")).toEqual(["ADDED west"]);
  expect(asides("EdgeDC")).toEqual(["ADDED e9"]);
  tree.dropNode("e9", ++revision);
  expect(asides("Edge")).toEqual(["DELETED e9"]);
  expect(asides("EdgeDC")).toEqual(["DELETED e9"]);
});
