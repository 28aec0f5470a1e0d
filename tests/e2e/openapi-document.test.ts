import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Running, Site } from "../support/busbar.ts";

// The OpenAPI document of a server with a node n1: its form, and every example as written.
const redocly = fileURLToPath(new URL("../../node_modules/.bin/redocly", import.meta.url));
const config = fileURLToPath(new URL("../conformance/openapi/redocly.yaml", import.meta.url));

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly example?: string | readonly string[];
  }[];
  readonly requestBody?: {
    readonly content: Readonly<
      Record<string, { readonly examples?: Readonly<Record<string, { readonly value: unknown }>> }>
    >;
  };
}

/** Requests that others depend on come first, and those that remove them last; the rest in the order of the document. */
const ORDER = [
  "registerCluster",
  "submitJobs",
  "acceptTasks",
  "reportTasks",
  "addSubsystem",
  "applyService",
  "addInstances",
];
const LAST = [
  "removeInstance",
  "removeService",
  "requeueJob",
  "cancelJob",
  "removeSubsystem",
  "deleteCluster",
  "removeGroup",
  "removeNode",
];
/** The prerequisites of an example. */
const READY: Readonly<Record<string, () => Promise<unknown>>> = {
  reportProgress: () => site.jobIs("2", "running"),
  requeueJob: () => site.jobIs("2", "running"),
  readOutput: () => site.jobIs("1", "succeeded"),
  removeNode: async () => {
    await agent.end("SIGTERM");
    await site.nodeIs("n1", "disconnected");
  },
};
/** It never ends. */
const ENDLESS = ["watch"];

let site: Site;
let agent: Running;
let document = "";
let operations: readonly (Operation & { readonly method: string; readonly path: string })[] = [];
beforeAll(async () => {
  site = new Site();
  await site.startServer();
  agent = await site.startAgent("n1");
  document = await (await fetch(`${site.http}/v1/openapi.json`)).text();
  const { paths } = JSON.parse(document) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  };
  operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, each]) => ({ ...each, method, path })),
  );
}, 60_000);
afterAll(() => site.close());

const placeOf = ({ operationId }: Operation): number => {
  if (LAST.includes(operationId)) return ORDER.length + 1 + LAST.indexOf(operationId);
  return ORDER.includes(operationId) ? ORDER.indexOf(operationId) : ORDER.length;
};

test("every example of the document works as written", async () => {
  const answers: string[] = [];
  for (const operation of operations.toSorted((a, b) => placeOf(a) - placeOf(b))) {
    const { operationId, method, path, parameters = [], requestBody } = operation;
    if (ENDLESS.includes(operationId)) continue;
    const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const example = parameters.find((each) => each.in === "path" && each.name === name)?.example;
      return typeof example === "string" ? example : `{${name} has no example}`;
    });
    const query = new URLSearchParams(
      parameters.flatMap(({ name, in: where, example = [] }) =>
        where === "query" ? [example].flat().map((each) => [name, each]) : [],
      ),
    );
    const examples = requestBody?.content["application/json"]?.examples ?? {};
    if (requestBody !== undefined) expect(Object.keys(examples), operationId).not.toEqual([]);
    await READY[operationId]?.();
    for (const body of requestBody === undefined ? [undefined] : Object.values(examples)) {
      const answer = await fetch(`${site.http}${url}?${query.toString()}`, {
        method: method.toUpperCase(),
        ...(body === undefined
          ? {}
          : {
              headers: { "content-type": "application/json" },
              body: JSON.stringify(body.value),
            }),
      });
      const text = await answer.text();
      if (!answer.ok) answers.push(`${operationId} ${url}: ${answer.status} ${text.slice(0, 300)}`);
    }
  }
  expect(answers).toEqual([]);
  expect(operations.length).toBeGreaterThan(40);
}, 120_000);

test("redocly finds nothing wrong with the document", () => {
  const file = site.path("openapi.json");
  writeFileSync(file, document);
  const lint = spawnSync(redocly, ["lint", "--config", config, "--format", "json", file], {
    encoding: "utf8",
    env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
  });
  const { totals, problems } = JSON.parse(lint.stdout) as { totals: object; problems: unknown };
  expect(problems).toEqual([]);
  expect(totals).toEqual({ errors: 0, warnings: 0, ignored: 0 });
});
