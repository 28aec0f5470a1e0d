import { afterAll, beforeAll, expect, test } from "vitest";
import { limits } from "../../../limits.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { createFakeOperations } from "../testing/fake-operations.ts";
import { type Http, httpClient } from "../testing/http-client.ts";
import { createHttpServer, type HttpServer } from "./http-server.ts";

let server: HttpServer;
let http: Http;

beforeAll(async () => {
  const options = { operations: createFakeOperations(), logger: silentLogger, version: "1.2.3" };
  server = await createHttpServer({ ...options, address: "127.0.0.1:0" });
  http = httpClient(server.address);
});
afterAll(() => server.close());

/** As many jobs as one call may submit, the last one as given. */
const jobsWith = (last: string): string =>
  `{"jobs":[${'{"command":["a"],"env":{"A":"1"}},'.repeat(limits.submitJobsMax - 1)}${last}]}`;

const KEYS = Array.from({ length: limits.jsonPartsMax }, (_, at) => `"k${at}":""`).join();

interface Long {
  readonly name: string;
  readonly body: string;
  readonly status?: number;
  readonly field?: string;
  readonly message: RegExp;
}
const long: readonly Long[] = [
  {
    name: "more keys than one parse may take",
    body: `{"env":{${KEYS}}}`,
    status: 422,
    field: "body",
    message: /more than 100000 objects, arrays and keys/,
  },
  {
    name: "a job of many with more keys than one parse may take",
    body: jobsWith(`{"env":{${KEYS}}}`),
    status: 422,
    field: "body",
    message: /jobs after character \d+: more than 100000 objects, arrays and keys/,
  },
  {
    name: "a job of many that is no JSON",
    body: jobsWith('{"command":x}'),
    message: /^the body cannot be read as JSON: jobs after character \d+: /,
  },
  {
    name: "a poisoned prototype in one job of many",
    body: jobsWith('{"__proto__":{"x":1}}'),
    message: /__proto__/,
  },
  {
    name: "an unknown field of the last of many jobs",
    body: jobsWith('{"comand":["a"]}'),
    field: `jobs[${limits.submitJobsMax - 1}].comand`,
    message: /did you mean command/,
  },
];
test.each(long)("$name is rejected", async ({ body, status = 400, field, message }) => {
  const answer = await http.send("POST", "/v1/jobs", body);
  expect(answer.error?.message).toMatch(message);
  expect([answer.status, answer.error?.field]).toEqual([status, field]);
});

test("as many entries as one job may have are accepted", async () => {
  const entries = `"e",`.repeat(300_000);
  const body = `{"command":["a"],"entries":[${entries}"last"]}`;
  expect((await http.send("POST", "/v1/jobs", body)).status).toBe(201);
});

test("as many jobs as one call may submit are accepted, all of them", async () => {
  const { status, json } = await http.send("POST", "/v1/jobs", jobsWith('{"command":["b"]}'));
  expect(status).toBe(201);
  expect((json as { jobs: unknown[] }).jobs).toHaveLength(limits.submitJobsMax);
});
