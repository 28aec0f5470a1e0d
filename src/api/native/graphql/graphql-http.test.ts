import { createHash } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ANONYMOUS, LOCAL, type Principal } from "../../../core/access/principal.ts";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { usePlanes } from "../../../testing/use-planes.ts";
import { createHttpServer, type HttpServer } from "../http/http-server.ts";
import { createFakeOperations, type FakeOperations } from "../testing/fake-operations.ts";
import { type Answer, type Http, httpClient } from "../testing/http-client.ts";

let server: HttpServer;
let http: Http;
let operations: FakeOperations;

beforeEach(async () => {
  operations = createFakeOperations();
  server = await open({ operations });
  http = httpClient(server.address);
});
afterEach(() => server.close());

const open = (options: Pick<Parameters<typeof createHttpServer>[0], "operations" | "identify">) =>
  createHttpServer({ ...options, address: "127.0.0.1:0", logger: silentLogger, version: "1.2.3" });

const NEW = { accept: "application/graphql-response+json, application/json;q=0.9" };
const STREAM = { accept: "text/event-stream" };
const ask = (body: unknown, headers: Record<string, string> = {}, path = "/graphql") =>
  http.send("POST", path, body, headers);
const errorsOf = ({ json }: Answer) =>
  (json as { readonly errors: readonly { message: string; path?: unknown; extensions: unknown }[] })
    .errors;

describe("GraphQL over HTTP", () => {
  test.each(["/graphql", "/apis/graphql/v1/query", "/query"])("is at %s", async (path) => {
    const { status, json, headers } = await ask({ query: "{ stats { version } }" }, {}, path);
    expect({ status, json }).toEqual({
      status: 200,
      json: { data: { stats: { version: "1.2.3" } } },
    });
    expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
    const got = await http.get(`${path}?query=${encodeURIComponent("{ groups { revision } }")}`);
    expect(got.json).toEqual({ data: { groups: { revision: 0 } } });
  });

  test("passes arguments and variables on as operations accept them, and null as absent", async () => {
    const query = `mutation($jobs: [JobSubmissionInput!]!, $none: Boolean) {
      submitJobs(jobs: $jobs, allowUnsatisfiable: $none) { jobs { id } revision }
    }`;
    const job = {
      command: ["a"],
      resources: { cpu: 0.5, memory: "1GiB" },
      labels: { x: "y" },
      nice: null,
    };
    const { json } = await ask({ query, variables: { jobs: [job], none: null } });
    expect(json).toEqual({ data: { submitJobs: { jobs: [{ id: "1" }], revision: 1 } } });
    expect(operations.last()).toMatchObject({
      name: "submitJobs",
      args: [
        [
          {
            spec: { command: ["a"], resources: { cpu: 0.5, memory: 2 ** 30 }, labels: { x: "y" } },
          },
        ],
        { allowUnsatisfiable: false },
      ],
    });
    await ask({ query: '{ jobs(states: [running], labels: {a: "b"}, pageSize: 3) { revision } }' });
    expect(operations.last()?.args).toEqual([
      expect.objectContaining({ states: ["running"], labels: { a: "b" } }),
      { pageSize: 3, pageToken: undefined },
    ]);
  });

  test("an error has Busbar's code, the wrong field and the path, and other fields are answered", async () => {
    const query = `{ a: job(id: "99") { id } b: stats { version }
      c: jobs(states: [assigned]) { revision } }`;
    const answer = await ask({ query });
    expect(answer.json).toMatchObject({ data: { a: null, b: { version: "1.2.3" }, c: null } });
    expect(errorsOf(answer)).toEqual([
      expect.objectContaining({
        message: "job: there is no job 99",
        path: ["a"],
        extensions: { code: "not_found", field: "job" },
      }),
      expect.objectContaining({
        path: ["c"],
        extensions: { code: "invalid_argument", field: "states[0]" },
      }),
    ]);
  });

  test("an internal error is reported as such, without its details", async () => {
    await server.close();
    const stats = (): never => {
      throw new Error("secret");
    };
    server = await open({ operations: createFakeOperations({ stats }) });
    http = httpClient(server.address);
    const answer = await ask({ query: "{ stats { version } }" });
    expect(errorsOf(answer)).toMatchObject([
      { message: "internal error", extensions: { code: "internal" } },
    ]);
    expect(answer.text).not.toContain("secret");
  });

  test.each([
    ["a query that does not fit", { query: "{ jobb { id } }" }, /Did you mean "job/],
    ["a syntax error", { query: "{ jobs {" }, /Syntax Error/],
    [
      "variables that do not fit",
      { query: "query($n: Int!) { jobs(pageSize: $n) { revision } }" },
      /\$n/,
    ],
    ["no query", { variables: {} }, /query: is missing/],
    ["a list of requests", [{ query: "{ stats { version } }" }], /body: must be an object/],
    ["an unknown key", { query: "{ stats { version } }", id: 3 }, /id: is not known/],
    [
      "a wrong operation",
      { query: "query A { stats { version } }", operationName: "B" },
      /no such operation; the document has A/,
    ],
    [
      "a subscription without a stream",
      { query: "subscription { jobChanged { id } }" },
      /text\/event-stream/,
    ],
  ])("%s is 400 with the new media type, and 200 for older clients", async (_, body, why) => {
    const [older, newer] = [await ask(body), await ask(body, NEW)];
    expect([older.status, newer.status]).toEqual([200, 400]);
    expect(newer.headers.get("content-type")).toMatch(/^application\/graphql-response\+json/);
    expect(errorsOf(newer)[0]?.message).toMatch(why);
    expect(older.json).toEqual(newer.json);
    expect(newer.json).not.toHaveProperty("data");
  });

  test("GET cannot change anything", async () => {
    const query = encodeURIComponent('mutation { removeGroup(name: "default") { revision } }');
    const answer = await http.get(`/graphql?query=${query}`);
    expect(errorsOf(answer)[0]?.message).toMatch(/sent with POST/);
    expect(operations.asked).toEqual([]);
  });

  test("pages of other origins, other types and large bodies are rejected as everywhere", async () => {
    const query = "{ stats { version } }";
    expect((await ask({ query }, { origin: "https://evil.example" })).status).toBe(403);
    expect((await ask(JSON.stringify({ query }), { "content-type": "text/plain" })).status).toBe(
      415,
    );
    const large = await ask({ query: "x".repeat(limits.graphqlBodyBytesMax) });
    expect(large.error?.code).toBe("exhausted");
  });

  test("a document can be referred to by its hash once it was sent", async () => {
    const query = "{ stats { version } }";
    const sha256Hash = createHash("sha256").update(query).digest("hex");
    const extensions = { persistedQuery: { version: 1, sha256Hash } };
    expect(errorsOf(await ask({ extensions }))).toMatchObject([
      { message: "PersistedQueryNotFound", extensions: { code: "not_found" } },
    ]);
    expect((await ask({ query, extensions })).json).toHaveProperty("data");
    expect((await ask({ extensions })).json).toEqual({ data: { stats: { version: "1.2.3" } } });
    const wrong = await ask({ query: "{ groups { revision } }", extensions });
    expect(errorsOf(wrong)[0]?.message).toMatch(/is not the hash/);
  });

  test("shows a page that loads nothing from other origins", async () => {
    for (const path of ["/graphql", "/apis/graphql/v1"]) {
      const page = await http.get(path, { accept: "text/html" });
      expect(page.headers.get("content-security-policy")).toContain("default-src 'self'");
      const parts = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, to]) => to ?? "");
      expect(parts.every((to) => /^(?:\/|data:,)/.test(to))).toBe(true);
      for (const to of parts.filter((each) => each.startsWith("/graphql/"))) {
        expect((await http.get(to)).status).toBe(200);
      }
    }
    expect(errorsOf(await http.get("/graphql"))[0]?.message).toBe("query: is missing");
  });
});

describe("a stream", () => {
  test("has the fields of each event, and ends with the reason", async () => {
    const { text, headers } = await ask(
      {
        query:
          "subscription { watch(afterRevision: 5) { revision sync job { id } removed { kind id } } }",
      },
      STREAM,
    );
    expect(headers.get("content-type")).toMatch(/^text\/event-stream/);
    const events = text.trimEnd().split("\n\n");
    expect(events[0]).toBe(
      'id: 5\nevent: next\ndata: {"data":{"watch":{"revision":5,"sync":true,"job":null,"removed":null}}}',
    );
    expect(events[1]).toMatch(/"job":\{"id":"17"\}/);
    expect(events.at(-3)).toMatch(/"removed":\{"kind":"job","id":"1"\}/);
    expect(events.at(-2)).toMatch(/^event: next\ndata: \{"errors":\[.*"code":"exhausted"/);
    expect(events.at(-1)).toBe("event: complete\ndata:");
  });

  test("of one kind has no other events, and resumes after the last event that a browser saw", async () => {
    const query = "subscription { nodeChanged { name } }";
    const { text } = await ask({ query }, { ...STREAM, "last-event-id": "40" });
    expect(operations.last()?.args[0]).toMatchObject({ afterRevision: 40, kinds: ["node"] });
    expect(text.match(/data: \{"data".*/g)).toEqual([
      'data: {"data":{"nodeChanged":{"name":"n1"}}}',
    ]);
  });

  test("sends an error as its only event, and answers queries with one event", async () => {
    const wrong = await ask({ query: "subscription { nope }" }, STREAM);
    expect(wrong.text).toMatch(/^event: next\ndata: \{"errors".*\n\nevent: complete\ndata:\n\n$/);
    const right = await ask({ query: "{ stats { version } }" }, STREAM);
    expect(right.text).toMatch(/^event: next\ndata: \{"data".*\n\nevent: complete\ndata:\n\n$/);
    const query = "subscription($n: Int64) { watch(afterRevision: $n) { revision } }";
    const badVariable = await ask({ query, variables: { n: "x" } }, STREAM);
    expect(badVariable.text).toContain('"code":"invalid_argument"');
  });
});

describe("a caller", () => {
  const aPlane = usePlanes();

  test("is rejected, field by field, where its principal lacks permission", async () => {
    const { plane } = await aPlane();
    let principal: Principal = LOCAL;
    const real = await open({ operations: plane.operations, identify: () => principal });
    http = httpClient(real.address);
    const query = 'mutation { putGroup(name: "g", weight: 2) { name weight } }';
    expect((await ask({ query })).json).toEqual({ data: { putGroup: { name: "g", weight: 2 } } });
    principal = ANONYMOUS;
    const refused = await ask({ query });
    expect(errorsOf(refused)).toMatchObject([
      { path: ["putGroup"], extensions: { code: "permission_denied" } },
    ]);
    const stream = await ask({ query: "subscription { jobChanged { id } }" }, STREAM);
    expect(stream.text).toContain('"code":"permission_denied"');
    await real.close();
  });

  test("gets an error for a large answer that no estimate could foresee", async () => {
    const {
      clusters: [one],
    } = await operations.listClusters();
    if (one === undefined) throw new AppError("internal", "there is a cluster");
    const clusters = Array.from({ length: 5_000 }, () => one);
    await server.close();
    server = await open({
      operations: createFakeOperations({ listClusters: async () => ({ clusters, revision: 1 }) }),
    });
    http = httpClient(server.address);
    const few = await ask({ query: "{ clusters { clusters { name } } }" });
    expect(few.json).toHaveProperty("data.clusters.clusters.length", 5_000);
    const many = await ask({
      query: "{ clusters { clusters { name kind tasks nodes capacity used createdAtMs } } }",
    });
    expect(errorsOf(many)).toMatchObject([{ extensions: { code: "exhausted" } }]);
  });
});
