import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { GraphQLClient } from "graphql-request";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { Site } from "../support/busbar.ts";
import { openPage } from "../support/chromium.ts";

let site: Site;
let gateway: string;

beforeAll(async () => {
  site = new Site();
  const server = await site.startServer("--nexus", "127.0.0.1:0");
  gateway = await server.prints(/Nexus REST:\s+(http:\S+)/);
});
afterAll(() => site.close());

const JOBS = "/v1alpha1/job-groups/DefaultGroup/job-requests";

test("a job created over REST is in the GraphQL tree, by the query of the old system", async () => {
  const made = await fetch(`${gateway}${JOBS}/job-1`, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jobId: 1, powerNeeded: 329, creationTime: 1_700_000_000 }),
  });
  expect([made.status, await made.json()]).toEqual([201, { message: "job-1" }]);
  const client = new GraphQLClient(`${site.http}/apis/graphql/v1/query`);
  const query =
    '{ root { Config { JobGroups(Id:"DefaultGroup") { Id Jobs(Id:"job-1") { Id JobId PowerNeeded } } } } }';
  await eventually(async () => JSON.stringify(await client.request(query)).includes("job-1"), {
    what: "the job in the tree",
  });
  expect(await client.request(query)).toEqual({
    root: {
      Config: {
        JobGroups: [{ Id: "DefaultGroup", Jobs: [{ Id: "job-1", JobId: 1, PowerNeeded: 329 }] }],
      },
    },
  });
});

test("the three queries of docs/coming-from/nexus.md run as written, and are examples of the page", async () => {
  const read = (path: string) =>
    readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8");
  const queries = [...read("docs/coming-from/nexus.md").matchAll(/```graphql\n([^]*?)```/g)].map(
    ([, text = ""]) => text,
  );
  expect(queries).toHaveLength(3);
  const client = new GraphQLClient(`${site.http}/graphql`);
  const plain = (text: string) => text.replaceAll(/\s+/g, "");
  const page = plain(read("src/api/native/graphql/explorer/explorer.js"));
  for (const query of queries) {
    expect(await client.request(query)).toHaveProperty("root");
    expect(page).toContain(plain(query));
  }
});

test("the explorer shows every route in a browser, runs one, and contacts no other host", async () => {
  const page = await openPage(`${gateway}/intel.com/docs#/`);
  try {
    await page.until('document.querySelectorAll(".opblock").length > 30');
    const tags = '[...document.querySelectorAll(".opblock-tag")].map((tag) => tag.dataset.tag)';
    expect(await page.evaluate<string[]>(tags)).toEqual(
      expect.arrayContaining(["Job", "Jobgroup", "Site", "Edge", "JobInfo", "SchedulerConfig"]),
    );
    const click = (selector: string) =>
      page.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);
    const block = '[id$="GET__v1alpha1_schedular"]';
    await click(`${block} .opblock-summary-control`);
    await page.until(`document.querySelector('${block} .try-out__btn')`);
    await click(`${block} .try-out__btn`);
    await page.until(`document.querySelector('${block} .execute')`);
    await click(`${block} .execute`);
    await page.until(
      `document.querySelector('${block} .live-responses-table')?.textContent.includes("jobsQueued")`,
    );
    const shot = process.env["SCREENSHOT"];
    if (shot !== undefined) await page.screenshot(shot);
    expect(page.complaints).toEqual([]);
    const elsewhere = page.requested.filter((url) => !url.startsWith("data:"));
    expect(elsewhere.filter((url) => !url.startsWith(`${gateway}/`))).toEqual([]);
  } finally {
    await page.close();
  }
});
