import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { GraphQLClient } from "graphql-request";
import { type Client, createClient, type ExecutionResult } from "graphql-sse";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { Site } from "../support/busbar.ts";
import { openPage } from "../support/chromium.ts";

let site: Site;
let client: GraphQLClient;
let streams: Client;

beforeAll(async () => {
  site = new Site();
  await site.startServer();
  await site.startAgent("n1", "--cluster", "home");
  client = new GraphQLClient(`${site.http}/graphql`);
  streams = createClient({ url: `${site.http}/graphql`, retryAttempts: 0 });
});
afterAll(async () => {
  streams.dispose();
  await site.close();
});

const submit = async (name: string, ...command: string[]): Promise<string> => {
  const query = `mutation Submit($jobs: [JobSubmissionInput!]!) {
    submitJobs(jobs: $jobs) { jobs { id } }
  }`;
  const { submitJobs } = await client.request<{ submitJobs: { jobs: { id: string }[] } }>(query, {
    jobs: [{ name, command, resources: { cpu: 0.1 } }],
  });
  return submitJobs.jobs[0]?.id ?? "";
};

/** Collects the events of a subscription. */
function subscribe<T>(query: string, variables: Record<string, unknown> = {}) {
  const results: ExecutionResult<T>[] = [];
  const state = { results, isComplete: false, error: undefined as unknown, stop: () => {} };
  state.stop = streams.subscribe<T>(
    { query, variables },
    {
      next: (result) => void results.push(result as ExecutionResult<T>),
      error: (error) => void (state.error = error),
      complete: () => void (state.isComplete = true),
    },
  );
  return state;
}

describe("graphql-request", () => {
  test("submits a job, follows it to its task, its node and its output, and pages", async () => {
    const id = await submit("hello", "echo", "hello");
    await site.jobIs(id, "succeeded");
    const query = `query Job($id: String!) {
      job(id: $id) {
        state exitCode spec { name resources }
        taskList { tasks { id state output { text nextOffset } onNode { name inCluster { name } } job { id } } }
        explanation { summary }
      }
    }`;
    expect(await client.request(query, { id })).toMatchObject({
      job: {
        state: "succeeded",
        exitCode: 0,
        spec: { name: "hello", resources: { cpu: 0.1 } },
        taskList: {
          tasks: [
            {
              id,
              output: { text: "hello\n", nextOffset: 6 },
              onNode: { name: "n1", inCluster: { name: "home" } },
              job: { id },
            },
          ],
        },
      },
    });
    await submit("second", "true");
    const page = `query Page($pageToken: String) {
      jobs(pageSize: 1, pageToken: $pageToken) { jobs { id } nextPageToken }
    }`;
    interface Page {
      readonly jobs: { readonly jobs: readonly { id: string }[]; readonly nextPageToken: string };
    }
    const first = await client.request<Page>(page);
    const second = await client.request<Page>(page, { pageToken: first.jobs.nextPageToken });
    expect(Number(second.jobs.jobs[0]?.id)).toBe(Number(first.jobs.jobs[0]?.id) - 1);
  });

  test("receives errors with code and path", async () => {
    const failed = client.request('{ node(name: "nowhere") { name } stats { version } }');
    await expect(failed).rejects.toMatchObject({
      response: {
        data: { node: null, stats: { version: expect.any(String) } },
        errors: [{ path: ["node"], extensions: { code: "not_found" } }],
      },
    });
    await expect(client.request("{ nope }")).rejects.toMatchObject({
      response: { errors: [{ extensions: { code: "invalid_argument" } }] },
    });
  });

  test("drains a node, puts a group and cancels", async () => {
    const change = `mutation Change($id: String!) {
      drainNode(name: "n1", reason: "a test") { state drainReason }
      putGroup(name: "g", weight: 3) { weight }
      undrainNode(name: "n1") { state }
      cancelJob(id: $id, reason: "enough") { state reason }
    }`;
    const id = await submit("long", "sleep", "600");
    expect(await client.request(change, { id })).toMatchObject({
      drainNode: { drainReason: "a test" },
      putGroup: { weight: 3 },
      undrainNode: { state: "connected" },
      cancelJob: { reason: "enough" },
    });
    await site.jobIs(id, "cancelled");
  });
});

describe("graphql-sse", () => {
  test("receives a job from its submission to its end", async () => {
    const seen = subscribe<{ jobChanged: { id: string; state: string } }>(
      "subscription { jobChanged { id state } }",
    );
    // No event shows that the stream is open: the test waits for events of this job, whichever arrive.
    const id = await eventually(
      async () => {
        const made = await submit("watched", "true");
        await site.jobIs(made, "succeeded");
        return seen.results.some(({ data }) => data?.jobChanged.id === made) ? made : undefined;
      },
      { what: () => `an event: ${JSON.stringify(seen)}`, timeoutMs: 60_000 },
    );
    await eventually(
      () =>
        seen.results.some(
          ({ data }) => data?.jobChanged.id === id && data.jobChanged.state === "succeeded",
        ),
      { what: () => JSON.stringify(seen.results) },
    );
    seen.stop();
    expect(seen.error).toBeUndefined();
  });

  test("receives edges that join and leave, from a revision on", async () => {
    const { stats } = await client.request<{ stats: { revision: number } }>(
      "{ stats { revision } }",
    );
    const seen = subscribe<{
      watch: { node: { name: string; state: string } | null; removed: { id: string } | null };
    }>(
      `subscription Edges($after: Int64) {
        watch(nodes: true, afterRevision: $after) { revision node { name state } removed { kind id } }
      }`,
      { after: stats.revision },
    );
    const has = (
      what: (event: NonNullable<(typeof seen.results)[0]["data"]>["watch"]) => boolean,
    ) =>
      eventually(() => seen.results.some(({ data }) => data && what(data.watch)), {
        what: () => JSON.stringify(seen.results),
        timeoutMs: 60_000,
      });
    const edge = await site.startAgent("edge-1");
    await has(({ node }) => node?.name === "edge-1" && node.state === "connected");
    await edge.end("SIGTERM");
    await has(({ node }) => node?.name === "edge-1" && node.state !== "connected");
    await client.request('mutation { removeNode(name: "edge-1") { revision } }');
    await has(({ removed }) => removed?.id === "edge-1");
    seen.stop();
  });

  test("receives the reason of a rejection, and its completion", async () => {
    const seen = subscribe("subscription { watch(afterRevision: 999999999) { revision } }");
    await eventually(() => seen.isComplete, { what: () => JSON.stringify(seen) });
    expect(seen.results).toMatchObject([
      { errors: [{ extensions: { code: "unprocessable", field: "afterRevision" } }] },
    ]);
  });
});

describe("docs/graphql.md", () => {
  const path = fileURLToPath(new URL("../../docs/graphql.md", import.meta.url));
  const blocks = [...readFileSync(path, "utf8").matchAll(/```graphql\n([^]*?)```/g)].map(
    ([, text = ""]) => text,
  );
  const queries = blocks.filter((text) => !text.startsWith("subscription"));

  test("has three queries that run as written", async () => {
    expect(queries).toHaveLength(3);
    for (const query of queries) expect(await client.request(query)).toBeTruthy();
  });

  test("has a subscription that opens as written", async () => {
    const [query = ""] = blocks.filter((text) => text.startsWith("subscription"));
    const seen = subscribe(query);
    await eventually(() => seen.results.length > 0, { what: () => JSON.stringify(seen) });
    expect(seen.results[0]).toHaveProperty("data.watch.revision");
    seen.stop();
  });
});

describe("the explorer in a browser", () => {
  test("runs typed queries, shows the schema and the events, and contacts no other host", async () => {
    const page = await openPage(`${site.http}/graphql`);
    try {
      await page.until('document.querySelectorAll("#docs button").length > 20');
      const type = (text: string) =>
        page.evaluate(
          `(() => { const area = document.getElementById("query"); area.value = ${JSON.stringify(text)};
            area.dispatchEvent(new Event("input")); document.getElementById("run").click(); })()`,
        );
      const result = '(document.getElementById("result").textContent)';
      await type("{ nodes { nodes { name cluster } } }");
      await page.until(`${result}.includes('"cluster": "home"')`);
      await type("{ nope }");
      await page.until(`${result}.includes("Cannot query field")`);
      await page.evaluate(
        '[...document.querySelectorAll("#docs button")].find((b) => b.textContent === "Job").click()',
      );
      await page.until('document.getElementById("docs").textContent.includes("explanation")');
      await type("subscription { watch { revision sync } }");
      await page.until(`${result}.includes('"sync": true')`);
      await page.evaluate('document.getElementById("stop").click()');
      await page.until('document.getElementById("status").textContent === "stopped"');
      const shot = process.env["SCREENSHOT"];
      if (shot !== undefined) await page.screenshot(shot);
      expect(page.complaints).toEqual([]);
      const elsewhere = page.requested.filter((url) => !url.startsWith("data:"));
      expect(elsewhere.filter((url) => !url.startsWith(`${site.http}/`))).toEqual([]);
    } finally {
      await page.close();
    }
  });
});
