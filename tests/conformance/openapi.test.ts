import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EXAMPLES } from "../../src/api/native/http/schemas/examples.ts";
import { Site } from "../support/busbar.ts";
import { pythonWith } from "./support/python-packages.ts";

// schemathesis sends requests that the OpenAPI document allows and others that it does not, with all of its checks. Nothing runs here: the
// node's agent is disconnected, and the other cluster is a pull cluster. So all submissions are harmless.
const hooks = fileURLToPath(new URL("openapi/hooks.py", import.meta.url));
const EXAMPLES_MAX = "5";
const SEED = "20261117";
/**
 * Only running tasks make progress or can be requeued, and schemathesis cancels the only one; it removes the service of the examples before
 * it requests its parts. Another test sends their examples (tests/e2e/openapi-document.test.ts).
 */
const NOT_HERE = new Set([
  "GET /v1/watch",
  "POST /v1/tasks/:id/progress",
  "POST /v1/jobs/:id/requeue",
  "POST /v1/services/:name/scale",
  "POST /v1/services/:name/rollback",
  "POST /v1/services/:name/instances",
  "GET /v1/services/:name/instances/:instance",
  "DELETE /v1/services/:name/instances/:instance",
]);
/** The default statuses of its check of valid data. */
const ACCEPTED = ["2xx", "3xx", "401", "403", "404", "409", "429", "5xx"];

interface Document {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { operationId: string; responses: object }>>>
  >;
}

let site: Site;
let python = "";
let document: Document;
beforeAll(async () => {
  python = await pythonWith("schemathesis-python", ["schemathesis==4.32.5"]);
  site = new Site();
  await site.startServer();
  const agent = await site.startAgent("n1");
  await agent.end("SIGTERM");
  await site.nodeIs("n1", "disconnected");
  await setTheScene();
  document = (await (await fetch(`${site.http}/v1/openapi.json`)).json()) as Document;
  writeFileSync(site.path("schemathesis.toml"), config());
}, 300_000);
afterAll(() => site.close());

/** An ended task with output, and a running one, on a pull cluster: the ids of the examples. */
async function setTheScene(): Promise<void> {
  const send = async (path: string, body: object): Promise<void> => {
    const answer = await fetch(`${site.http}/v1/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(answer.ok, `${path}: ${await answer.text()}`).toBe(true);
  };
  const graph = EXAMPLES["registerCluster"]?.bodies?.["one"] as object;
  await send("clusters", { ...graph, name: "scene" });
  const job = { command: ["true"], placement: { cluster: "scene" } };
  await send("jobs", { jobs: [job, job] });
  await send("clusters/scene/accept", { ids: ["1", "2"] });
  const reports = [
    { id: "1", state: "succeeded", stdout: "done" },
    { id: "2", state: "running" },
  ];
  await send("clusters/scene/reports", { reports });
}

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, responses }]) => ({
      name: `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}`,
      operationId,
      isMaybeUnprocessable: "422" in responses,
    })),
  );

/** 422 is a valid answer to valid data only where the document lists it. */
const config = (): string =>
  operations()
    .filter(({ isMaybeUnprocessable }) => isMaybeUnprocessable)
    .map(({ operationId }) =>
      [
        "[[operations]]",
        `include-operation-id = "${operationId}"`,
        `checks.positive_data_acceptance.expected-statuses = ${JSON.stringify([...ACCEPTED, "422"])}`,
      ].join("\n"),
    )
    .join("\n\n");

/** In its own directory, where it leaves its cache. */
async function run(...args: readonly string[]): Promise<string> {
  const child = spawn(
    python,
    [
      "-m",
      "schemathesis.cli",
      "--config-file",
      site.path("schemathesis.toml"),
      "run",
      `${site.http}/v1/openapi.json`,
      "--checks=all",
      "--no-color",
      "--no-shrink",
      "--warnings=off",
      "--generation-database=none",
      "--request-timeout=60",
      `--seed=${SEED}`,
      `--max-examples=${EXAMPLES_MAX}`,
      ...args,
    ],
    {
      cwd: site.directory,
      env: { ...process.env, SCHEMATHESIS_HOOKS: hooks },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return out + errors;
}

/** Counted by the server: correctly answered requests by operation. */
async function succeeded(): Promise<ReadonlyMap<string, number>> {
  const metrics = await (await fetch(`${site.http}/metrics`)).text();
  const lines = metrics.matchAll(
    /^busbar_requests_total\{door="http",method="([^"]+)",code="ok"\} (\d+)$/gm,
  );
  return new Map([...lines].map(([, name = "", count]) => [name, Number(count)]));
}

test("the API conforms to its document, in every check of schemathesis", async () => {
  const before = await succeeded();
  const output = await run("--exclude-path", "/v1/watch");
  expect(output).toMatch(/No issues found in \S+s/);
  const after = await succeeded();
  const countOf = (name: string): number => (after.get(name) ?? 0) - (before.get(name) ?? 0);
  const names = operations().map(({ name }) => name);
  expect(names.filter((name) => !NOT_HERE.has(name) && countOf(name) === 0)).toEqual([]);
  expect(countOf("POST /v1/jobs")).toBeGreaterThanOrEqual(5);
}, 600_000);

// An accepted watch never ends; so all requests here must be rejected at once.
test("a watch rejects requests that its document does not allow", async () => {
  const output = await run(
    "--include-path",
    "/v1/watch",
    "--mode",
    "negative",
    "--phases",
    "coverage,fuzzing",
  );
  expect(output).toMatch(/No issues found in \S+s/);
}, 300_000);
