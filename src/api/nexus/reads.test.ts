import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { anObedientAgent } from "../../testing/fake-agent.ts";
import { eventually } from "../../testing/eventually.ts";
import { KINDS, SERVED } from "./model/kinds.ts";
import { hashName } from "./model/names.ts";
import { toSelector } from "./model/selectors.ts";
import { aNexusBed, EDGES, JOBS, TABLE } from "./testing/nexus-bed.ts";

type Bed = Awaited<ReturnType<typeof aNexusBed>>;
let bed: Bed;
beforeAll(async () => {
  bed = await aNexusBed();
});
afterAll(() => bed.close());

const DISCOVERY =
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
  "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

describe("discovery", () => {
  test("is one document for clients that request it", async () => {
    const { type, body } = await bed.get("/apis", { accept: DISCOVERY });
    expect(type).toBe("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    expect(body["kind"]).toBe("APIGroupDiscoveryList");
    expect(body["items"]).toHaveLength(11);
  });

  test("is a document for each group for others, and they agree", async () => {
    const { body } = await bed.get("/apis", { accept: "application/json" });
    const groups = (body as { groups: { name: string }[] }).groups.map(({ name }) => name);
    const lists = await Promise.all(groups.map((group) => bed.get(`/apis/${group}/v1`)));
    const names = lists.flatMap(({ body: list }) =>
      (list as { resources: { name: string }[] }).resources.map(({ name }) => name),
    );
    expect(names.filter((name) => !name.includes("/"))).toHaveLength(SERVED.length);
    expect((await bed.get("/apis/none.intel.com")).status).toBe(404);
  });

  test("has documents of every group for kubectl's checks and explanations of fields", async () => {
    const { body } = await bed.get("/openapi/v3");
    const paths = Object.values(
      (body as { paths: Record<string, { serverRelativeURL: string }> }).paths,
    );
    expect(paths).toHaveLength(11);
    for (const { serverRelativeURL } of paths) {
      const { status, body: document } = await bed.get(serverRelativeURL);
      expect({ status, openapi: document["openapi"] }).toEqual({ status: 200, openapi: "3.0.0" });
    }
    const only = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    expect(await bed.get("/openapi/v2", { accept: only })).toMatchObject({
      status: 200,
      type: only.replace("@", "."),
    });
    expect((await bed.get("/openapi/v2", { accept: "text/html" })).status).toBe(406);
    expect((await bed.get("/openapi/v2")).body["swagger"]).toBe("2.0");
  });
});

test("an unknown object is a Status with NotFound", async () => {
  const { status, body } = await bed.get(`${JOBS}/none`);
  expect({ status, ...body }).toMatchObject({
    status: "Failure",
    kind: "Status",
    reason: "NotFound",
    code: 404,
  });
  expect((await bed.get("/apis/jobscheduler.intel.com/v1/pods")).status).toBe(404);
});

test("singletons exist from the start, under both names of statistics", async () => {
  for (const { kind, group } of SERVED.filter((served) => served.kind.isSingleton)) {
    const path = `/apis/${group}/v1/${kind.plural}/${hashName(kind, [])}`;
    const { status, body } = await bed.get(path);
    expect({ status, kind: body["kind"] }).toEqual({ status: 200, kind: kind.kind });
    expect(body["apiVersion"]).toBe(`${group}/v1`);
  }
});

describe("jobs of other doors", () => {
  test("are Jobs of their group that request no power, by a unique name", async () => {
    const { jobs } = await bed.plane.operations.submitJobs(
      [{ spec: { command: ["x"], name: "report", group: "night" } }],
      {},
    );
    const name = `report.${jobs[0]?.id}`;
    const { body } = await bed.get(`${JOBS}/${hashName(KINDS.Job, ["night", name])}`);
    expect(body).toMatchObject({
      spec: { powerNeeded: 0 },
      status: { state: { percentCompleted: 0, startTime: 0, endTime: 0, execution: {} } },
    });
    // A request by the name that people use returns that name.
    const plain = { ...body, metadata: { ...(body["metadata"] as object), name } };
    expect((await bed.get(`${JOBS}/${name}`)).body).toEqual(plain);
    expect((await bed.get(`/apis/jobgroup.intel.com/v1/jobgroups/night`)).status).toBe(200);
    const selected = await bed.get(`${JOBS}?labelSelector=nexus%2Fdisplay_name%3D${name}`);
    expect(selected.body["items"]).toEqual([body]);
  });

  test("are done when they have succeeded, and an agent is an Edge", async () => {
    await anObedientAgent(bed.plane);
    await eventually(
      async () => {
        const { body } = await bed.get(
          `${JOBS}?labelSelector=jobgroups.jobgroup.intel.com%3Dnight`,
        );
        const [job] = body["items"] as { status: { state: { percentCompleted: number } } }[];
        return job?.status.state.percentCompleted === 100;
      },
      { what: "the job to be done" },
    );
    const { body } = await bed.get(`${EDGES}/w1`);
    expect(body).toMatchObject({
      kind: "Edge",
      metadata: { labels: { "sites.site.intel.com": "default" } },
      status: { state: { currentJob: "" } },
    });
    expect(body).not.toHaveProperty("spec");
  });
});

describe("lists", () => {
  const COUNT = 1_203;
  const names = (body: Record<string, unknown>): string[] =>
    (body["items"] as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);

  test("have pages, each object once, all pages of one version", async () => {
    const jobs = Array.from({ length: COUNT }, () => ({
      spec: { command: ["x"], group: "many", resources: { cpu: 900 } },
    }));
    await bed.plane.operations.submitJobs(jobs, { allowUnsatisfiable: true });
    const all: string[] = [];
    const versions = new Set<string>();
    let from = "";
    do {
      const path = `${JOBS}?limit=500&resourceVersion=0${from === "" ? "" : `&continue=${from}`}`;
      const { body } = await bed.get(path);
      const { metadata, kind } = body as {
        kind: string;
        metadata: { continue?: string; resourceVersion: string };
      };
      expect(kind).toBe("JobList");
      versions.add(metadata.resourceVersion);
      all.push(...names(body));
      from = metadata.continue ?? "";
    } while (from !== "");
    expect(new Set(all).size).toBe(all.length);
    expect(all.length).toBeGreaterThan(COUNT);
    expect(versions.size).toBe(1);
    expect(names((await bed.get(JOBS)).body).toSorted()).toEqual(all.toSorted());
  });

  test("are tables on request, with the columns that people need", async () => {
    const { type, body } = await bed.get(`${JOBS}?limit=2`, { accept: TABLE });
    expect(type).toContain("as=Table");
    const { rows, kind } = body as { kind: string; rows: { cells: unknown[]; object: object }[] };
    expect(kind).toBe("Table");
    expect(rows).toHaveLength(2);
    expect(rows[0]?.cells.slice(1, 5)).toEqual(["many", "Queued", 0, 0]);
    expect(rows[0]?.object).toMatchObject({ kind: "PartialObjectMetadata" });
  });

  test("reject versions that they cannot resume from", async () => {
    expect((await bed.get(`${JOBS}?continue=xyz`)).status).toBe(400);
    expect((await bed.get(`${JOBS}?limit=many`)).body).toMatchObject({ reason: "BadRequest" });
    expect((await bed.get(`${JOBS}?fieldSelector=x`)).body).toMatchObject({ code: 400 });
  });
});

describe("watches", () => {
  const submit = async (group: string): Promise<string> => {
    const spec = { command: ["x"], name: "w", group };
    const { jobs } = await bed.plane.operations.submitJobs([{ spec }], {});
    return `w.${jobs[0]?.id}`;
  };

  test("begin after a version, send additions and changes, and can be resumed", async () => {
    const { body } = await bed.get(`${JOBS}?limit=1`);
    const { resourceVersion } = body["metadata"] as { resourceVersion: string };
    const group = "labelSelector=jobgroups.jobgroup.intel.com%3Dwatched";
    const seen = await bed.watch(`${JOBS}?watch=true&resourceVersion=${resourceVersion}&${group}`);
    const name = await submit("watched");
    await submit("other");
    await bed.tells(seen, 2);
    const last = (): number | undefined =>
      (seen.lines.at(-1)?.object["status"] as { state: { percentCompleted: number } } | undefined)
        ?.state.percentCompleted;
    await eventually(() => last() === 100, { what: "the watch to tell of the end" });
    expect(seen.lines[0]?.type).toBe("ADDED");
    expect(new Set(seen.lines.slice(1).map(({ type }) => type))).toEqual(new Set(["MODIFIED"]));
    const hash = hashName(KINDS.Job, ["watched", name]);
    expect(new Set(seen.lines.map(({ object }) => object.metadata.name))).toEqual(new Set([hash]));
    const again = await bed.watch(`${JOBS}?watch=1&resourceVersion=${resourceVersion}&${group}`);
    await bed.tells(again, seen.lines.length);
    expect(again.lines).toEqual(seen.lines);
  });

  test("from the start begin with all objects", async () => {
    const seen = await bed.watch(`${EDGES}?watch=true`);
    await bed.tells(seen, 1);
    expect(seen.lines[0]).toMatchObject({ type: "ADDED", object: { kind: "Edge" } });
  });

  test("as tables have one row each", async () => {
    const { body } = await bed.get(JOBS);
    const { resourceVersion } = body["metadata"] as { resourceVersion: string };
    const path = `${JOBS}?watch=true&resourceVersion=${resourceVersion}`;
    const seen = await bed.watch(path, { accept: TABLE });
    await submit("tables");
    await bed.tells(seen, 1);
    expect(seen.lines[0]?.object).toMatchObject({ kind: "Table", rows: [{}] });
  });

  test("send the same to readers that accept gzip, to the end", async () => {
    const path = `${JOBS}?watch=true&timeoutSeconds=1`;
    const [plain, packed] = [
      await bed.watch(path),
      await bed.watch(path, { "accept-encoding": "gzip" }),
    ];
    await submit("packed");
    await eventually(() => plain.isOver && packed.isOver, { what: "the watches to end" });
    expect([plain.isGzip, packed.isGzip]).toEqual([false, true]);
    expect(packed.lines.at(-1)).toMatchObject({ type: "MODIFIED", object: { kind: "Job" } });
    expect(packed.lines).toEqual(plain.lines);
  });

  test("have bookmarks on request: a version, and no object", () => {
    const served = { kind: KINDS.Job, group: KINDS.Job.group };
    const shape = { served, selector: toSelector(undefined, undefined), table: undefined };
    const event = { kind: "bookmark", revision: 42 } as never;
    const present = { objects: [], revision: 0 };
    const lineOf = (hasBookmarks: boolean): string =>
      bed.routes.formats
        .of({ ...shape, hasBookmarks }, present)
        .render(event)
        .toString();
    expect(JSON.parse(lineOf(true))).toMatchObject({
      type: "BOOKMARK",
      object: { kind: "Job", metadata: { resourceVersion: "42" } },
    });
    expect(lineOf(false)).toBe("");
  });

  test("end at their timeout, and not before", async () => {
    const seen = await bed.watch(`${EDGES}?watch=true&timeoutSeconds=1`);
    await eventually(() => seen.isOver, { what: "the watch to end" });
    expect(seen.lines.every(({ type }) => type !== "ERROR")).toBe(true);
  });

  test("with a timeout of 0, or one that no timer has, stay open", async () => {
    for (const timeout of ["0", "2147484", "999999999999"]) {
      const seen = await bed.watch(`${JOBS}?watch=true&timeoutSeconds=${timeout}`);
      const { operations } = bed.plane;
      const name = `after-${timeout}`;
      await operations.submitJobs([{ spec: { command: ["x"], name } }], {});
      const isThere = (): boolean => seen.lines.some((line) => JSON.stringify(line).includes(name));
      await eventually(isThere, { what: `a watch with timeoutSeconds=${timeout} to go on` });
      expect(seen.isOver).toBe(false);
    }
  });

  test("from an unknown or invalid version answer that clients must list again", async () => {
    const future = await bed.get(`${JOBS}?watch=true&resourceVersion=999999999`);
    expect(future.body).toMatchObject({ code: 410, reason: "Expired" });
    expect((await bed.get(`${JOBS}?watch=true&resourceVersion=x`)).status).toBe(400);
    expect((await bed.get(`${JOBS}?watch=true&sendInitialEvents=true`)).status).toBe(400);
  });
});

test("pages of other sites may not call it", async () => {
  const { status } = await bed.get(JOBS, { origin: "http://evil.example" });
  expect(status).toBe(403);
  expect((await bed.get(JOBS, { host: "evil.example" })).status).toBe(403);
});
