import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../../testing/eventually.ts";
import { anObedientAgent } from "../../../testing/fake-agent.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { createTraffic } from "../../grpc/traffic.ts";
import type { HttpListener } from "../../web/http-listener.ts";
import { nodeOf } from "../model/children.ts";
import { aNexusBed } from "../testing/nexus-bed.ts";
import { createNexusGateway } from "./gateway.ts";
import { gatewayDocument } from "./openapi.ts";
import { targetOf, URIS } from "./uris.ts";

const ORIGIN = "https://console.example.com";
const JOBS = "/v1alpha1/job-groups/g/job-requests";

let bed: Awaited<ReturnType<typeof aNexusBed>>;
let gateway: HttpListener;
beforeEach(async () => {
  bed = await aNexusBed();
  gateway = await createNexusGateway({
    operations: bed.plane.operations,
    address: "127.0.0.1:0",
    origins: [ORIGIN],
    routes: bed.routes,
    logger: silentLogger,
    traffic: createTraffic(),
    drainMs: 100,
  });
});
afterEach(async () => {
  await gateway.close();
  await bed.close();
});

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: unknown;
}

async function send(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const response = await fetch(`http://${gateway.address}${path}`, {
    method,
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
  const json: unknown = isJson && text !== "" ? JSON.parse(text) : undefined;
  return { status: response.status, headers: response.headers, text, json };
}
const get = (path: string, headers?: Record<string, string>) =>
  send("GET", path, undefined, headers);

/** The tree receives changes a moment later. */
const shows = (path: string, status = 200) =>
  eventually(async () => (await get(path)).status === status, { what: `${status} at ${path}` });

test("PUT creates a job with 201; it is shown with its status, and listed", async () => {
  const made = await send("PUT", `${JOBS}/job-1`, { jobId: 1, powerNeeded: 300, creationTime: 5 });
  expect(made).toMatchObject({ status: 201, json: { message: "job-1" } });
  await shows(`${JOBS}/job-1`);
  expect((await get(`${JOBS}/job-1`)).json).toMatchObject({
    spec: { jobId: 1, powerNeeded: 300, creationTime: 5 },
    status: { state: { percentCompleted: 0, startTime: 0 } },
  });
  expect((await get(`${JOBS}/job-1/status`)).json).toMatchObject({ state: { endTime: 0 } });
  expect((await get(JOBS)).json).toMatchObject([{ name: "job-1", spec: { jobId: 1 } }]);
  expect((await get("/v1alpha1/job-groups/g/Jobs")).json).toMatchObject([{ name: "job-1" }]);
  expect((await get("/v1alpha1/job-groups/h/job-requests")).json).toEqual([]);
  const again = await send("PUT", `${JOBS}/job-1?update_if_exists=false`, { jobId: 1 });
  expect(again).toMatchObject({ status: 403, json: { message: "Already Exists." } });
});

test("POST creates one with its address, and rejects one that exists", async () => {
  const made = await send("POST", JOBS, { name: "job-2", spec: { powerNeeded: 0 } });
  expect(made).toMatchObject({ status: 201, json: { message: "job-2" } });
  expect(made.headers.get("location")).toBe(`${JOBS}/job-2`);
  await shows(`${JOBS}/job-2`);
  expect((await send("POST", JOBS, { name: "job-2" })).status).toBe(409);
  expect((await send("POST", "/v1alpha1/job-groups", { name: "fresh" })).status).toBe(201);
  await shows("/v1alpha1/job-groups/fresh");
});

test.each([
  [
    "an unknown field",
    "PUT",
    `${JOBS}/j`,
    { power: 3 },
    /spec.power: is not known; known are jobId/,
  ],
  ["a field of a kind without any", "PUT", "/v1alpha1/schedular", { a: 1 }, /has no fields/],
  ["a number below 0", "PUT", `${JOBS}/j`, { powerNeeded: -1 }, /whole number from 0/],
  ["no object", "PUT", `${JOBS}/j`, [1], /body: must be an object/],
  ["no name", "POST", JOBS, { spec: {} }, /name: must be a text/],
  [
    "another name for what there is one of",
    "GET",
    "/v1alpha1/schedular?jobgroup.SchedulerConfig=x",
    undefined,
    /only one, called default/,
  ],
  ["two groups at once", "GET", `${JOBS}?jobgroup.Jobgroup=h`, undefined, /is "g" in the path/],
  ["a wrong limit", "GET", `${JOBS}?limit=5000`, undefined, /at most 1000/],
])("%s is rejected and changes nothing", async (_, method, path, body, why) => {
  const { status, json } = await send(method, path, body);
  expect(status).toBe(400);
  expect((json as { readonly message: string }).message).toMatch(why);
  expect((await bed.plane.operations.listJobs({}, {})).jobs).toEqual([]);
});

test("PUT and PATCH without a change report that, and with another spec are rejected", async () => {
  const spec = { jobId: 1, powerNeeded: 300, creationTime: 5 };
  await send("PUT", `${JOBS}/job-1`, spec);
  expect(await send("PUT", `${JOBS}/job-1`, spec)).toMatchObject({
    status: 200,
    json: { message: "Updated successfully" },
  });
  expect(await send("PATCH", `${JOBS}/job-1`, { powerNeeded: 300 })).toMatchObject({
    status: 200,
    json: { message: "Patch applied successfully" },
  });
  const refused = await send("PATCH", `${JOBS}/job-1`, { powerNeeded: 301 });
  expect(refused.status).toBe(422);
  expect(refused.text).toContain("spec.powerNeeded: cannot be changed");
  expect((await send("PATCH", `${JOBS}/none`, {})).status).toBe(404);
  expect((await send("PUT", "/v1alpha1/schedular", {})).status).toBe(200);
  expect((await send("PUT", "/v1alpha1/info/site/s/edge/e/jobs/j", {})).status).toBe(403);
});

test("DELETE removes an object with its children, and nothing of the same name elsewhere", async () => {
  for (const group of ["g", "h"]) {
    const made = await send("PUT", `/v1alpha1/job-groups/${group}/job-requests/job-1`, {});
    expect(made.status).toBe(201);
  }
  // A name leads to jobs of all groups; a list has only those of its own group.
  const named = await get(`${JOBS}?fieldSelector=metadata.name%3Djob-1`);
  expect(named.json).toHaveLength(1);
  const removed = await send("DELETE", "/v1alpha1/job-groups/g");
  expect([removed.status, removed.text]).toEqual([200, ""]);
  await shows(`${JOBS}/job-1`, 404);
  await shows("/v1alpha1/job-groups/g", 404);
  expect((await get("/v1alpha1/job-groups/h/job-requests/job-1")).status).toBe(200);
  expect((await send("DELETE", `${JOBS}/job-1`)).status).toBe(404);
  expect((await send("DELETE", "/v1alpha1/schedular")).status).toBe(405);
});

test("an edge is created with its site, and both are removed when the site is deleted", async () => {
  expect((await send("PUT", "/v1alpha1/sites/s1/edges/e1", {})).status).toBe(201);
  await shows("/v1alpha1/sites/s1");
  expect((await get("/v1alpha1/sites/s1/edges")).json).toMatchObject([{ name: "e1" }]);
  expect((await send("DELETE", "/v1alpha1/sites/s1")).status).toBe(200);
  await shows("/v1alpha1/sites/s1/edges/e1", 404);
});

test("an unknown object is Not Found, and the error about an unknown method names the others", async () => {
  for (const path of [`${JOBS}/none`, "/v1alpha1/sites/none", "/v1alpha1/none", "/nothing"]) {
    expect(await get(path)).toMatchObject({ status: 404, json: { message: "Not Found" } });
  }
  const refused = await send("DELETE", JOBS);
  expect(refused.status).toBe(405);
  expect(refused.headers.get("allow")).toBe("GET, POST");
});

test("a list continues beyond its limit, by the header or the link", async () => {
  const jobs = Array.from({ length: 7 }, (_, at) => ({
    spec: { name: `j${at}`, group: "g", command: ["true"], labels: { "nexus.job-id": "1" } },
  }));
  await bed.plane.operations.submitJobs(jobs, { allowUnsatisfiable: true });
  await shows(`${JOBS}/j6`);
  const seen: string[] = [];
  let next: string | undefined = `${JOBS}?limit=3`;
  while (next !== undefined) {
    const page = await get(next);
    seen.push(...(page.json as readonly { name: string }[]).map(({ name }) => name));
    expect(page.headers.has("x-continue")).toBe(page.headers.has("link"));
    next = /^<([^>]+)>; rel="next"$/.exec(page.headers.get("link") ?? "")?.[1];
  }
  expect(seen.sort()).toEqual(["j0", "j1", "j2", "j3", "j4", "j5", "j6"]);
});

test("sites, edges and their desired configurations are served, by every spelling", async () => {
  await anObedientAgent(bed.plane);
  const [node] = (await bed.plane.operations.listNodes({}, {})).nodes;
  const { cluster = "", name = "" } = node ?? {};
  await shows(`/v1alpha1/sites/${cluster}/edges/${name}`);
  expect((await get("/v1alpha1/sites")).json).toMatchObject([{ name: cluster }]);
  expect((await get(`/v1alpha1/sites/${cluster}/Edges`)).json).toMatchObject([{ name }]);
  expect((await get(`/v1alpha1/info/sites/${cluster}/edge`)).json).toMatchObject([{ name }]);
  expect((await get(`/v1alpha1/info/sites/${cluster}/EdgesDC`)).json).toMatchObject([{ name }]);
  for (const list of [
    `/v1alpha1/info/site/${cluster}/edge/${name}/jobs`,
    `/v1alpha1/info/site/${cluster}edge/${name}/jobs`,
    `/v1alpha1/info/sites/${cluster}/edge/${name}/JobsInfo`,
  ]) {
    expect(await get(list), list).toMatchObject({ status: 200, json: [] });
  }
  for (const path of ["/v1alpha1/schedular", "/v1alpha1/scheduler"]) {
    expect((await get(path)).json).toMatchObject({ status: { state: { jobsQueued: 0 } } });
  }
});

test("kubectl finds the same here as at the other port", async () => {
  const { json } = await get("/apis/jobscheduler.intel.com/v1/jobs");
  expect(json).toMatchObject({ kind: "JobList", items: [] });
});

describe("pages", () => {
  test("of other origins are refused, except the allowed ones", async () => {
    expect((await get(JOBS, { origin: "https://evil.example" })).status).toBe(403);
    const asked = { "access-control-request-method": "PUT" };
    const refused = await send("OPTIONS", JOBS, undefined, { ...asked, origin: "null" });
    expect(refused.status).toBe(403);
    expect(refused.headers.has("access-control-allow-origin")).toBe(false);
    const allowed = await send("OPTIONS", JOBS, undefined, { ...asked, origin: ORIGIN });
    expect(allowed.status).toBe(204);
    expect(allowed.headers.get("access-control-allow-origin")).toBe(ORIGIN);
    const got = await get(JOBS, { origin: ORIGIN });
    expect(got.status).toBe(200);
    expect(got.headers.get("access-control-allow-origin")).toBe(ORIGIN);
    expect((await get(JOBS)).headers.has("access-control-allow-origin")).toBe(false);
  });

  test("of its own work without a network", async () => {
    const page = await get("/intel.com/docs");
    expect(page.headers.get("content-security-policy")).toContain("default-src 'self'");
    const parts = [...page.text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, to]) => to ?? "");
    expect(parts).toHaveLength(3);
    for (const part of parts) expect((await get(part)).status, part).toBe(200);
    expect(page.text).not.toMatch(/https?:\/\//);
    expect((await get("/intel.com/docs/..%2f..%2fpackage.json")).status).toBe(404);
  });
});

describe("the document", () => {
  test("is served at its old path, and has every route with its methods", async () => {
    const { json } = await get("/intel.com/openapi.json");
    expect((await get("/explorer/openapi.json")).json).toEqual(json);
    expect(json).toEqual(JSON.parse(JSON.stringify(gatewayDocument())));
    const { paths, openapi } = json as { paths: Record<string, object>; openapi: string };
    expect(openapi).toBe("3.0.0");
    for (const { pattern, isAlias, isList, kind } of URIS) {
      const methods = Object.keys(paths[pattern] ?? {});
      const wanted = isList ? ["get", "post"] : ["get", "put", "patch"];
      const more = !isList && !kind.isSingleton ? ["delete"] : [];
      expect(methods, pattern).toEqual(isAlias ? [] : [...wanted, ...more]);
    }
    const ids = Object.values(paths).flatMap((path) =>
      Object.values(path as Record<string, { operationId: string }>).map((one) => one.operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toContain(
      "GET__v1alpha1_job-groups_jobgroup_Jobgroup_job-requests_jobscheduler_Job",
    );
  });

  test("has no dangling references", () => {
    const document = gatewayDocument();
    const refs = [...JSON.stringify(document).matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)];
    const components = document["components"] as Record<string, Record<string, unknown>>;
    expect(refs.length).toBeGreaterThan(20);
    for (const [, part = "", name = ""] of refs) expect(components[part]).toHaveProperty([name]);
  });
});

test("every route leads to its kind, and names its parameters", () => {
  for (const { pattern, kind, isList } of URIS) {
    const filled = pattern.replaceAll(/\{[^}]*\.(\w+)\}/g, "a-$1");
    const target = targetOf(filled.split("/").filter((part) => part !== ""));
    expect(target?.uri.kind, pattern).toBe(kind);
    expect(target?.uri.isList, pattern).toBe(isList);
    const names = [...pattern.matchAll(/\{[^}]*\.(\w+)\}/g)].map(([, name]) => `a-${name}`);
    expect(target?.path, nodeOf(kind)).toEqual(names);
  }
  expect(targetOf(["v1alpha1", "sites", "a/b"])?.path).toEqual(["a/b"]);
});
