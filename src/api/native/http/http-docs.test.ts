import { afterAll, beforeAll, expect, test } from "vitest";
import { createHttpServer, type HttpServer } from "./http-server.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { createFakeOperations } from "../testing/fake-operations.ts";
import { type Http, httpClient } from "../testing/http-client.ts";

let server: HttpServer;
let http: Http;

interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly schema: object;
  }[];
  readonly requestBody?: {
    readonly required?: boolean;
    readonly content: Record<string, { readonly schema: object }>;
  };
  readonly responses: Record<string, { readonly description: string; readonly content?: object }>;
}
interface Document {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, unknown> };
}
let document: Document;

beforeAll(async () => {
  const operations = createFakeOperations();
  server = await createHttpServer({
    operations,
    address: "127.0.0.1:0",
    logger: silentLogger,
    version: "1.2.3",
  });
  http = httpClient(server.address);
  document = (await http.get("/v1/openapi.json")).json as Document;
});
afterAll(() => server.close());

const ROUTES = [
  "delete /v1/clusters/{name}",
  "delete /v1/clusters/{name}/subsystems/{subsystem}",
  "delete /v1/groups/{name}",
  "delete /v1/nodes/{name}",
  "delete /v1/services/{name}",
  "delete /v1/services/{name}/instances/{instance}",
  "get /healthz",
  "get /metrics",
  "get /readyz",
  "get /v1/backup",
  "get /v1/clusters",
  "get /v1/clusters/{name}",
  "get /v1/clusters/{name}/graph",
  "get /v1/clusters/{name}/offered",
  "get /v1/clusters/{name}/subsystems/{subsystem}",
  "get /v1/groups",
  "get /v1/jobs",
  "get /v1/jobs/count",
  "get /v1/jobs/{id}",
  "get /v1/jobs/{id}/explain",
  "get /v1/jobs/{id}/tasks",
  "get /v1/nodes",
  "get /v1/nodes/{name}",
  "get /v1/services",
  "get /v1/services/{name}",
  "get /v1/services/{name}/instances",
  "get /v1/services/{name}/instances/{instance}",
  "get /v1/stats",
  "get /v1/tasks/{id}",
  "get /v1/tasks/{id}/output",
  "get /v1/watch",
  "patch /v1/clusters/{name}/state",
  "patch /v1/jobs/{id}",
  "patch /v1/nodes/{name}",
  "post /v1/clusters",
  "post /v1/clusters/{name}/accept",
  "post /v1/clusters/{name}/credentials/rotate",
  "post /v1/clusters/{name}/reports",
  "post /v1/jobs",
  "post /v1/jobs/try",
  "post /v1/jobs/{id}/cancel",
  "post /v1/jobs/{id}/hold",
  "post /v1/jobs/{id}/release",
  "post /v1/jobs/{id}/requeue",
  "post /v1/jobs/{id}/rerun",
  "post /v1/jobspecs",
  "post /v1/jobspecs/try",
  "post /v1/nodes/{name}/drain",
  "post /v1/nodes/{name}/undrain",
  "post /v1/satisfy",
  "post /v1/services/{name}/instances",
  "post /v1/services/{name}/rollback",
  "post /v1/services/{name}/scale",
  "post /v1/tasks/{id}/progress",
  "put /v1/clusters/{name}/counters",
  "put /v1/clusters/{name}/subsystems/{subsystem}",
  "put /v1/credentials",
  "put /v1/groups/{name}",
  "put /v1/services/{name}",
];

const operations = (): [string, Operation][] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, each]): [string, Operation] => [
      `${method} ${path}`,
      each,
    ]),
  );

test("the document is OpenAPI 3.1 and has every route", () => {
  expect(document.openapi).toMatch(/^3\.1\.\d+$/);
  expect(document.info).toMatchObject({ title: "Busbar", version: "1.2.3" });
  expect(
    operations()
      .map(([name]) => name)
      .sort(),
  ).toEqual(ROUTES);
});

test("every operation documents its purpose, parameters and answers", () => {
  for (const [name, operation] of operations()) {
    expect(operation.summary, name).toMatch(/^[A-Z]/);
    expect(operation.tags, name).toHaveLength(1);
    const inPath = [...name.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter);
    const described = (operation.parameters ?? []).filter((each) => each.in === "path");
    expect(
      described.map((each) => each.name),
      name,
    ).toEqual(inPath);
    expect(Object.keys(operation.responses), name).toEqual(
      expect.arrayContaining(["200", "4XX", "5XX"]),
    );
    for (const response of Object.values(operation.responses)) {
      expect(response.description, name).toBeTypeOf("string");
      expect(Object.keys(response.content ?? {}), name).toHaveLength(1);
    }
  }
});

test("every operation has a unique name, and documents its errors as JSON", () => {
  const names = operations().map(([, { operationId }]) => operationId);
  expect(new Set(names).size).toBe(ROUTES.length);
  for (const [name, { operationId, responses }] of operations()) {
    expect(operationId, name).toMatch(/^[a-z][A-Za-z]+$/);
    for (const status of ["4XX", "5XX"]) {
      expect(Object.keys(responses[status]?.content ?? {}), name).toEqual(["application/json"]);
    }
  }
});

test("a body is required where the server rejects its absence", () => {
  const optional = operations().filter(([, { requestBody }]) => requestBody?.required === false);
  expect(optional.map(([name]) => name).sort()).toEqual([
    "patch /v1/jobs/{id}",
    "patch /v1/nodes/{name}",
    "post /v1/clusters/{name}/credentials/rotate",
    "post /v1/jobs/{id}/cancel",
    "post /v1/jobs/{id}/hold",
    "post /v1/jobs/{id}/release",
    "post /v1/jobs/{id}/requeue",
    "post /v1/jobs/{id}/rerun",
    "post /v1/nodes/{name}/drain",
    "post /v1/services/{name}/rollback",
  ]);
});

test("every reference resolves, and every component is used", () => {
  const references = new Set(JSON.stringify(document).match(/"\$ref":"[^"]*"/g));
  const names = [...references].map(
    (each) => /^"\$ref":"#\/components\/schemas\/(\w+)"$/.exec(each)?.[1],
  );
  expect(names).not.toContain(undefined);
  expect(new Set(names)).toEqual(new Set(Object.keys(document.components.schemas)));
});

test("types are those of JSON Schema, without traces of our tools", () => {
  const text = JSON.stringify(document, (key, value: unknown) =>
    key === "examples" ? undefined : value,
  );
  const types = [...text.matchAll(/"type":"(\w+)"/g)].map(([, type]) => type);
  const known = ["string", "number", "integer", "boolean", "object", "array", "null"];
  expect(types.filter((type) => !known.includes(type ?? ""))).toEqual([]);
  expect(text).not.toMatch(/"\$id"|~kind|"if":|def-\d/);
});

test("submissions are described in both forms", () => {
  const body = document.paths["/v1/jobs"]?.["post"]?.requestBody?.content["application/json"];
  expect(body?.schema).toEqual({
    anyOf: [
      { $ref: "#/components/schemas/JobSubmission" },
      { $ref: "#/components/schemas/SubmitJobsRequest" },
    ],
  });
});

test("the page of the documentation works without the internet", async () => {
  const page = await http.get("/docs");
  expect(page.status).toBe(200);
  expect(page.headers.get("content-type")).toMatch(/^text\/html/);
  expect(page.text).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
  expect(page.headers.get("content-security-policy")).not.toMatch(/https?:/);
  const assets = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path ?? "");
  const files = assets.filter((path) => path !== "data:,");
  expect(files).toHaveLength(3);
  for (const asset of files) expect((await http.get(asset)).status, asset).toBe(200);
  const setup = await http.get("/docs/start.js");
  expect(setup.text).toMatch(/"validatorUrl":\s*null/);
  expect(setup.text).not.toMatch(/https?:\/\//);
});
