import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { limits } from "../../limits.ts";
import { eventually } from "../../testing/eventually.ts";
import { KINDS, type KindName } from "./model/kinds.ts";
import { hashName, treeLabels } from "./model/names.ts";
import { aNexusBed, JOBS } from "./testing/nexus-bed.ts";

type Bed = Awaited<ReturnType<typeof aNexusBed>>;
let bed: Bed;
beforeAll(async () => {
  bed = await aNexusBed();
});
afterAll(() => bed.close());

const at = (kind: KindName, path?: readonly string[]): string => {
  const { group, plural } = KINDS[kind];
  const name = path === undefined ? "" : `/${hashName(KINDS[kind], path)}`;
  return `/apis/${group}/v1/${plural}${name}`;
};

/** An object as the nexus client creates it. */
const made = (kind: KindName, path: readonly string[], more: object = {}) => ({
  metadata: {
    name: hashName(KINDS[kind], path),
    creationTimestamp: null,
    labels: treeLabels(KINDS[kind], path),
  },
  ...more,
});

interface Shown {
  readonly metadata: {
    readonly name: string;
    readonly resourceVersion: string;
    readonly labels: Readonly<Record<string, string>>;
  };
}
const shown = (body: unknown): Shown => body as Shown;

const PATCH = { "content-type": "application/json-patch+json" };
const MERGE = { "content-type": "application/merge-patch+json" };

describe("the first writes of the programs", () => {
  test("singletons exist: creating them again fails with AlreadyExists", async () => {
    expect((await bed.get(at("PowerScheduler", []))).status).toBe(200);
    for (const kind of ["Config", "DesiredSiteConfig", "Inventory", "SchedulerConfig"] as const) {
      const { status, body } = await bed.send("POST", at(kind), made(kind, []));
      expect({ status, reason: body["reason"] }).toEqual({ status: 409, reason: "AlreadyExists" });
    }
  });

  test("a created site appears in both parts of the tree, once", async () => {
    expect((await bed.get(at("Site", ["edge-10"]))).status).toBe(404);
    const first = await bed.send("POST", at("Site"), made("Site", ["edge-10"], { spec: {} }));
    expect(first.status).toBe(201);
    expect(first.body).toMatchObject({ kind: "Site", metadata: { uid: expect.any(String) } });
    expect((await bed.get(at("SiteDC", ["edge-10"]))).status).toBe(200);
    const again = await bed.send("POST", at("SiteDC"), made("SiteDC", ["edge-10"]));
    expect(again.body).toMatchObject({ reason: "AlreadyExists", code: 409 });
  });

  test("a scheduler labels a site by a JSON patch of absent members", async () => {
    const path = at("SiteDC", ["edge-10"]);
    const before = shown((await bed.get(path)).body);
    const watch = `${at("SiteDC")}?watch=true&resourceVersion=${before.metadata.resourceVersion}`;
    const seen = await bed.watch(watch);
    const labels = { ...before.metadata.labels, "jobgroups.jobgroup.intel.com": "DefaultGroup" };
    const patch = [
      { op: "replace", path: "/metadata/labels", value: labels },
      { op: "replace", path: "/metadata/finalizers", value: null },
    ];
    const { status, body } = await bed.send("PATCH", path, patch, PATCH);
    expect(status).toBe(200);
    expect(shown(body).metadata.labels).toEqual(labels);
    expect(Number(shown(body).metadata.resourceVersion)).toBeGreaterThan(
      Number(before.metadata.resourceVersion),
    );
    await bed.tells(seen, 1);
    expect(seen.lines).toEqual([{ type: "MODIFIED", object: body }]);
  });

  test("a created group is one of Busbar's", async () => {
    const { status } = await bed.send("POST", at("Jobgroup"), made("Jobgroup", ["DefaultGroup"]));
    expect(status).toBe(201);
    const { groups } = await bed.plane.operations.listGroups();
    expect(groups.map(({ name }) => name)).toContain("DefaultGroup");
  });

  test("statistics that a scheduler writes are not shown", async () => {
    const path = `${at("SchedulerConfig", [])}/status`;
    const body = { kind: "schedulerconfigs", status: { state: { jobsQueued: 77 } } };
    const { status, body: answered } = await bed.send("PUT", path, body);
    expect(status).toBe(200);
    expect(answered).toMatchObject({
      kind: "SchedulerConfig",
      status: { state: { jobsQueued: 0 } },
    });
  });
});

describe("labels and annotations", () => {
  const submit = async (name: string): Promise<string> => {
    const spec = { command: ["x"], name, labels: { of: "busbar" } };
    const { jobs } = await bed.plane.operations.submitJobs([{ spec }], {
      allowUnsatisfiable: true,
    });
    return `${JOBS}/${name}.${jobs[0]?.id}`;
  };

  test("are stored, found by selectors, and removed again", async () => {
    const path = await submit("labelled");
    const patch = { metadata: { labels: { tier: "gold" }, annotations: { why: "because" } } };
    const { body } = await bed.send("PATCH", path, patch, MERGE);
    expect(body).toMatchObject({
      metadata: { labels: { tier: "gold", of: "busbar" }, annotations: { why: "because" } },
    });
    const found = await bed.get(`${JOBS}?labelSelector=tier%3Dgold`);
    expect(found.body["items"]).toHaveLength(1);
    const none = { metadata: { labels: { tier: null }, annotations: null } };
    const after = (await bed.send("PATCH", path, none, MERGE)).body;
    expect(after).not.toHaveProperty("metadata.labels.tier");
    expect(after).not.toHaveProperty("metadata.annotations");
  });

  test("cannot be changed by a client that read an older version", async () => {
    const path = await submit("raced");
    const object = (await bed.get(path)).body;
    const { metadata } = shown(object);
    const labelled = (labels: object) => ({
      ...object,
      metadata: { ...metadata, labels: { ...metadata.labels, ...labels } },
    });
    expect((await bed.send("PUT", path, labelled({ a: "1" }))).status).toBe(200);
    const late = await bed.send("PUT", path, labelled({ b: "2" }));
    expect(late.body).toMatchObject({ code: 409, reason: "Conflict" });
    expect(shown((await bed.get(path)).body).metadata.labels).toMatchObject({ a: "1" });
    const any = labelled({ b: "2" });
    const { resourceVersion: _, ...unversioned } = any.metadata;
    const { status } = await bed.send("PUT", path, { ...object, metadata: unversioned });
    expect(status).toBe(200);
  });

  test("of the tree cannot be changed, nor can specs", async () => {
    const path = await submit("fixed");
    const wrong = { metadata: { labels: { "jobgroups.jobgroup.intel.com": "other" } } };
    expect((await bed.send("PATCH", path, wrong, MERGE)).body).toMatchObject({ code: 422 });
    const spec = { spec: { powerNeeded: 5 } };
    const { body } = await bed.send("PATCH", path, spec, MERGE);
    expect(body).toMatchObject({ code: 422, message: expect.stringContaining("spec.powerNeeded") });
  });

  test("of the same job from many clients are all stored", async () => {
    const path = await submit("crowded");
    const sides = Array.from({ length: 5 }, (_, n) => `side-${n}`);
    const patches = sides.map((side) =>
      bed.send("PATCH", path, { metadata: { labels: { [side]: "here" } } }, MERGE),
    );
    for (const { status } of await Promise.all(patches)) expect(status).toBe(200);
    const { labels } = shown((await bed.get(path)).body).metadata;
    expect(
      Object.keys(labels)
        .filter((name) => name.startsWith("side-"))
        .toSorted(),
    ).toEqual(sides);
  });
});

describe("deleting", () => {
  const submit = async (group: string): Promise<{ id: string; path: string }> => {
    const job = { spec: { command: ["x"], name: "d", group } };
    const { jobs } = await bed.plane.operations.submitJobs([job], { allowUnsatisfiable: true });
    const id = jobs[0]?.id ?? "";
    return { id, path: `${JOBS}/${hashName(KINDS.Job, [group, `d.${id}`])}` };
  };

  test("a job cancels it, and removes it from the tree, not from Busbar", async () => {
    const { id, path } = await submit("gone");
    const { resourceVersion } = shown((await bed.get(path)).body).metadata;
    const seen = await bed.watch(`${JOBS}?watch=true&resourceVersion=${resourceVersion}`);
    const options = { kind: "DeleteOptions", apiVersion: "jobscheduler.intel.com/v1" };
    const { body } = await bed.send("DELETE", path, options);
    expect(body).toMatchObject({ kind: "Status", status: "Success" });
    expect((await bed.get(path)).status).toBe(404);
    expect((await bed.plane.operations.getJob(id)).state).toBe("cancelled");
    await eventually(() => seen.lines.at(-1)?.type === "DELETED", { what: "it to be told" });
    expect(seen.lines.at(-1)?.object).toMatchObject({
      kind: "Job",
      metadata: { name: path.slice(-40) },
    });
    const list = (await bed.get(`${JOBS}?labelSelector=jobgroups.jobgroup.intel.com%3Dgone`)).body;
    expect(list["items"]).toEqual([]);
  });

  test("a group deletes its jobs, and others stay", async () => {
    const mine = await submit("doomed");
    const other = await submit("spared");
    expect((await bed.send("DELETE", at("Jobgroup", ["doomed"]))).status).toBe(200);
    expect((await bed.get(at("Jobgroup", ["doomed"]))).status).toBe(404);
    expect((await bed.get(mine.path)).status).toBe(404);
    expect((await bed.get(other.path)).status).toBe(200);
  });

  test("a delete of a collection deletes the selected objects", async () => {
    const some = await Promise.all([submit("bulk"), submit("bulk"), submit("bulk-not")]);
    const path = `${JOBS}?labelSelector=jobgroups.jobgroup.intel.com%3Dbulk`;
    expect((await bed.send("DELETE", path)).status).toBe(200);
    const left = await Promise.all(some.map(async (one) => (await bed.get(one.path)).status));
    expect(left).toEqual([404, 404, 200]);
  });

  test("objects that others have changed, and permanent objects, is rejected", async () => {
    const { path } = await submit("kept");
    const body = { preconditions: { uid: "another" } };
    expect((await bed.send("DELETE", path, body)).body).toMatchObject({ reason: "Conflict" });
    expect((await bed.send("DELETE", at("Config", []))).status).toBe(405);
    expect((await bed.get(path)).status).toBe(200);
  });
});

test("notes are removed with their job", async () => {
  const { operations } = bed.plane;
  const { jobs } = await operations.submitJobs([{ spec: { command: ["x"], name: "old" } }], {});
  const id = jobs[0]?.id ?? "";
  await bed.send("PATCH", `${JOBS}/old.${id}`, { metadata: { labels: { a: "b" } } }, MERGE);
  const isNoted = async (): Promise<boolean> =>
    (await operations.listNotes()).notes.some((note) => note.id === `Job/${id}`);
  expect(await isNoted()).toBe(true);
  await operations.cancelJob(id, "");
  bed.clock.advance(limits.finishedAgeMsMax + 1_000);
  await eventually(async () => (await bed.get(`${JOBS}/old.${id}`)).status === 404, {
    what: "the job to be removed",
  });
  await bed.door.sweeper.sweep();
  expect(await isNoted()).toBe(false);
});

describe("refusals", () => {
  const refused: readonly (readonly [string, object, string])[] = [
    ["a name that no hash is of", made("Job", ["g", "a"], { spec: {} }), "is not the hash"],
    ["another kind", { kind: "Pod", metadata: { name: "x" } }, "must be Job"],
    ["no name", { metadata: {} }, "metadata.name"],
    [
      "energy that is no number",
      { metadata: { name: "x" }, spec: { powerNeeded: "5" } },
      "spec.powerNeeded",
    ],
    ["a name of another door", { metadata: { name: "x.17" }, spec: {} }, "must not end in"],
    ["a name with a slash", { metadata: { name: "x/y" }, spec: {} }, "is not a name"],
  ];
  for (const [what, body, text] of refused) {
    test(`${what} is rejected with the right form`, async () => {
      const hostile = what.startsWith("a name that no")
        ? { ...body, metadata: { ...made("Job", ["g", "a"]).metadata, name: "0".repeat(40) } }
        : body;
      const { status, body: answered } = await bed.send("POST", JOBS, hostile);
      expect(status).toBe(400);
      expect(String(answered["message"])).toContain(text);
    });
  }

  test("fields that the model does not have are rejected, if a client requests that", async () => {
    const body = { metadata: { name: "strict" }, spec: { powerneeded: 1 } };
    const strict = await bed.send("POST", `${JOBS}?fieldValidation=Strict&dryRun=All`, body);
    expect(String(strict.body["message"])).toContain('unknown field "spec.powerneeded"');
    const dry = await bed.send("POST", `${JOBS}?dryRun=All`, body);
    expect(dry.status).toBe(201);
    expect((await bed.get(`${JOBS}/strict`)).status).toBe(404);
  });

  test("bodies are bounded, and must be JSON", async () => {
    const large = { metadata: { name: "x", annotations: { a: "x".repeat(2 * 1024 * 1024) } } };
    expect((await bed.send("POST", JOBS, large)).status).toBe(400);
    const form = { "content-type": "application/apply-patch+yaml" };
    expect((await bed.send("PATCH", at("Config", []), {}, form)).status).toBe(415);
    expect((await bed.send("PUT", JOBS, {})).status).toBe(405);
  });

  test("a body that is not UTF-8 is rejected", async () => {
    const site = made("Site", ["edge-é"], { spec: {} });
    const body = Buffer.from(JSON.stringify(site), "latin1");
    const refused = await bed.send("POST", at("Site"), body);
    expect(refused.body).toMatchObject({ code: 400, message: expect.stringContaining("UTF-8") });
  });

  test("only the scheduler can create a JobInfo", async () => {
    const info = made("JobInfo", ["edge-10", "edge-10", "job-1-edge-10"]);
    const { body } = await bed.send("POST", at("JobInfo"), info);
    expect(body).toMatchObject({ code: 403, reason: "Forbidden" });
  });
});
