import * as fc from "fast-check";
import { connect as connectSocket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { limits } from "../../../limits.ts";
import { createHttpServer, type HttpServer } from "./http-server.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { createFakeOperations } from "../testing/fake-operations.ts";
import { type Http, httpClient } from "../testing/http-client.ts";

let server: HttpServer;
let http: Http;

beforeAll(async () => {
  const options = { operations: createFakeOperations(), logger: silentLogger, version: "1.2.3" };
  server = await createHttpServer({ ...options, address: "127.0.0.1:0" });
  http = httpClient(server.address);
});
afterAll(() => server.close());

interface Bad {
  readonly name: string;
  readonly method?: string;
  readonly path?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly status?: number;
  readonly field?: string;
  readonly message: RegExp;
}
const bad: readonly Bad[] = [
  {
    name: "a misspelt field",
    body: { jobs: [{ command: ["a"] }, { comand: ["a"] }] },
    field: "jobs[1].comand",
    message: /^jobs\[1\]\.comand: is not known; did you mean command\?$/,
  },
  {
    name: "a field nobody could have meant",
    body: { command: ["a"], xyzzy: 1 },
    field: "xyzzy",
    message: /is not known; known are name, group/,
  },
  {
    name: "a text for a number",
    body: { jobs: [{}, {}, {}, { priority: "high" }] },
    field: "jobs[3].priority",
    message: /^jobs\[3\]\.priority: must be a whole number, not "high"$/,
  },
  { name: "half a number", body: { priority: 1.5 }, field: "priority", message: /whole number/ },
  {
    name: "a number as text",
    body: { timeLimitMs: "5" },
    field: "timeLimitMs",
    message: /not "5"/,
  },
  { name: "null", body: { cwd: null }, field: "cwd", message: /must be a text, not null/ },
  {
    name: "a text for a list",
    body: { command: "ls" },
    field: "command",
    message: /a list, not "ls"/,
  },
  {
    name: "an argument that is a number",
    body: { command: ["a", 1] },
    field: "command[1]",
    message: /a text/,
  },
  {
    name: "a variable that is a number",
    body: { env: { PATH: 1 } },
    field: "env.PATH",
    message: /a text/,
  },
  {
    name: "a variable that looks like an index",
    body: { env: { "0": 1 } },
    field: "env.0",
    message: /a text/,
  },
  {
    name: "a nested field",
    body: { retries: { mx: 1 } },
    field: "retries.mx",
    message: /did you mean max/,
  },
  {
    name: "an amount as text",
    body: { resources: { cpu: "1" } },
    field: "resources.cpu",
    message: /a number/,
  },
  {
    name: "memory of no size",
    body: { jobs: [{ command: ["a"], resources: { memory: "4 potatoes" } }] },
    field: "jobs[0].resources.memory",
    message: /is not a size/,
  },
  {
    name: "memory that is true",
    body: { resources: { memory: true } },
    field: "resources.memory",
    message: /a number or a text/,
  },
  { name: "a list for a job", body: [], field: "body", message: /must be an object, not \[\]/ },
  { name: "a text for a job", body: '"x"', field: "body", message: /must be an object/ },
  { name: "jobs that are no list", body: { jobs: {} }, field: "jobs", message: /must be a list/ },
  {
    name: "a job and jobs",
    body: { jobs: [], command: ["a"] },
    field: "command",
    message: /known are jobs/,
  },
  { name: "an empty job", body: {}, field: "command", message: /^command: must name a program/ },
  {
    name: "a value Operations refuses, of one job",
    body: { command: ["a"], priority: 1e9 },
    field: "priority",
    message: /^priority: must be a whole number from/,
  },
  {
    name: "a value Operations refuses, of many",
    body: { jobs: [{ command: ["a"] }, { command: ["a"], cwd: "tmp" }] },
    field: "jobs[1].cwd",
    message: /^jobs\[1\]\.cwd: must be an absolute path/,
  },
  { name: "no JSON", body: '{"command": [', message: /^the body cannot be read as JSON: / },
  { name: "a poisoned prototype", body: '{"__proto__": {"x": 1}}', message: /__proto__/ },
  { name: "a poisoned label", body: '{"labels": {"__proto__": "x"}}', message: /__proto__/ },
  {
    name: "a poisoned constructor",
    body: '{"constructor": {"prototype": {"x": 1}}}',
    message: /constructor\.prototype/,
  },
  {
    name: "a form",
    body: "command=ls",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    status: 415,
    field: "Content-Type",
    message: /application\/json/,
  },
  {
    name: "plain text",
    body: "{}",
    headers: { "content-type": "text/plain" },
    status: 415,
    field: "Content-Type",
    message: /application\/json/,
  },
  {
    name: "a body that is too large",
    body: JSON.stringify({ script: "x".repeat(limits.messageBytesMax) }),
    status: 413,
    message: /more than 4194304 bytes/,
  },
  {
    name: "an unknown state",
    method: "GET",
    path: "/v1/jobs?state=pending,runing",
    field: "state[1]",
    message: /did you mean running/,
  },
  {
    name: "a state of tasks for jobs",
    method: "GET",
    path: "/v1/jobs?state=waiting",
    field: "state[0]",
    message: /is not one of/,
  },
  {
    name: "an unknown query field",
    method: "GET",
    path: "/v1/jobs?pagesize=3",
    field: "pagesize",
    message: /did you mean pageSize/,
  },
  {
    name: "a page size of words",
    method: "GET",
    path: "/v1/jobs?pageSize=ten",
    field: "pageSize",
    message: /not "ten"/,
  },
  {
    name: "half a page size",
    method: "GET",
    path: "/v1/jobs?pageSize=1.5",
    field: "pageSize",
    message: /not "1\.5"/,
  },
  {
    name: "an empty page size",
    method: "GET",
    path: "/v1/jobs?pageSize=",
    field: "pageSize",
    message: /whole number/,
  },
  {
    name: "two groups",
    method: "GET",
    path: "/v1/jobs?group=a&group=b",
    field: "group",
    message: /must be a text/,
  },
  {
    name: "a label without value",
    method: "GET",
    path: "/v1/jobs?label=x",
    field: "label",
    message: /name=value/,
  },
  {
    name: "an unknown kind",
    method: "GET",
    path: "/v1/watch?kind=jobs",
    field: "kind[0]",
    message: /did you mean job\?/,
  },
  {
    name: "an unknown stream",
    method: "GET",
    path: "/v1/tasks/1/output?stream=stdin",
    field: "stream",
    message: /is not one of/,
  },
  {
    name: "a strange follow",
    method: "GET",
    path: "/v1/tasks/1/output?follow=yes",
    field: "follow",
    message: /true or false/,
  },
  {
    name: "a job that is not there",
    method: "GET",
    path: "/v1/jobs/99",
    status: 404,
    field: "job",
    message: /no job 99/,
  },
  {
    name: "a path that is not there",
    method: "GET",
    path: "/v1/nothing",
    status: 404,
    message: /nothing at \/v1\/nothing; \/docs/,
  },
  { name: "a path that cannot be read", method: "GET", path: "/v1/jobs/%ZZ", message: /%ZZ/ },
  {
    name: "an id without end",
    method: "GET",
    path: `/v1/jobs/${"9".repeat(600)}`,
    status: 414,
    message: /./,
  },
  {
    name: "a method it does not support",
    method: "DELETE",
    path: "/v1/jobs/1",
    status: 405,
    message: /does not support DELETE, only GET, HEAD/,
  },
  {
    name: "a method nothing takes",
    method: "PATCH",
    path: "/v1/groups/x",
    status: 405,
    message: /only DELETE, PUT/,
  },
  {
    name: "a method with a body, whose body is missing, that the path does not support",
    method: "QUERY",
    path: "/healthz",
    status: 405,
    message: /\/healthz does not support QUERY, only GET, HEAD/,
  },
  {
    name: "a word in the place of an id, that has another method",
    method: "GET",
    path: "/v1/jobs/try",
    status: 405,
    message: /\/v1\/jobs\/try does not support GET, only POST$/,
  },
  {
    name: "nothing to put",
    method: "PUT",
    path: "/v1/groups/x",
    field: "body",
    message: /must be an object/,
  },
  {
    name: "null in the place of a body that may be missing",
    path: "/v1/jobs/1/cancel",
    body: null,
    field: "body",
    message: /must be an object, not null/,
  },
];
for (const {
  name,
  method = "POST",
  path = "/v1/jobs",
  body,
  headers,
  status = 400,
  ...want
} of bad) {
  test(`${name} is rejected: ${status}`, async () => {
    const answer = await http.send(method, path, body, headers);
    expect(answer.error?.message).toMatch(want.message);
    expect(answer.error?.field).toBe(want.field);
    expect(answer.status).toBe(status);
    expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
    expect(Object.keys(answer.json as object)).toEqual(["error"]);
  });
}

test("405 lists the allowed methods", async () => {
  const answer = await http.send("PUT", "/v1/jobs", {});
  expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD, POST"]);
});

test("a request that is not HTTP is rejected in the same shape", async () => {
  const [host = "", port] = server.address.split(":");
  const socket = connectSocket(Number(port), host);
  socket.end("nonsense\r\n\r\n");
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  expect(text).toMatch(/^HTTP\/1\.1 400 .*\{"error":\{"code":"invalid_argument"/s);
});

test("an endless URL is rejected in the same shape", async () => {
  const answer = await http.get(`/v1/jobs?name=${"x".repeat(20_000)}`);
  expect(answer.status).toBe(431);
  expect(answer.error?.message).toMatch(/too many bytes/);
});

test.each(["/v1/jobs", "/v1/satisfy", "/v1/clusters", "/graphql"])(
  "%s rejects a deeply nested body before parsing it",
  async (path) => {
    for (const levels of [1_000, 50_000]) {
      const answer = await http.send("POST", path, "[".repeat(levels) + "]".repeat(levels));
      expect([answer.status, answer.error?.message]).toEqual([
        400,
        expect.stringContaining(`more than ${limits.jsonDepthMax} levels deep`),
      ]);
    }
  },
);

test("no body makes the server fail: a rejection names its field", async () => {
  const near = fc.record(
    {
      name: fc.oneof(fc.string(), fc.jsonValue()),
      command: fc.oneof(fc.array(fc.string()), fc.jsonValue()),
      script: fc.oneof(fc.string(), fc.jsonValue()),
      labels: fc.oneof(fc.dictionary(fc.string(), fc.string()), fc.jsonValue()),
      env: fc.oneof(fc.dictionary(fc.string(), fc.string()), fc.jsonValue()),
      cwd: fc.oneof(fc.constant("/tmp"), fc.jsonValue()),
      resources: fc.oneof(fc.dictionary(fc.string(), fc.double()), fc.jsonValue()),
      placement: fc.oneof(fc.record({ node: fc.string() }), fc.jsonValue()),
      array: fc.oneof(fc.constant("0-9"), fc.string()),
      priority: fc.oneof(fc.integer(), fc.double()),
      retries: fc.oneof(fc.record({ max: fc.integer() }), fc.jsonValue()),
      killGraceMs: fc.oneof(fc.nat(), fc.jsonValue()),
      idempotencyKey: fc.string(),
    },
    { requiredKeys: [] },
  );
  const body = fc.oneof(
    near,
    fc.record({ jobs: fc.array(near, { maxLength: 3 }) }),
    fc.jsonValue(),
  );
  await fc.assert(
    fc.asyncProperty(body, async (value) => {
      const text = JSON.stringify(value);
      const answer = await http.send("POST", "/v1/jobs", text);
      expect(answer.status).toBeLessThan(500);
      const isPoison = /"__proto__"|"constructor"/.test(text);
      if (answer.status >= 400 && !isPoison) expect(answer.error?.field).toBeTypeOf("string");
    }),
    { numRuns: 300 },
  );
});
