import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { Busbar } from "../../src/gen/busbar/v1/busbar_pb.ts";
import { docs } from "../../src/gen/busbar/v1/docs.ts";
import { cliPage } from "../support/cli-reference.ts";
import { limitsPage } from "../support/limits-reference.ts";
import { apiPage, jobFilePage } from "../support/reference-pages.ts";
import { statesPage } from "../support/state-reference.ts";

const root = new URL("../../", import.meta.url);

for (const [name, page] of [
  ["api.md", apiPage],
  ["job-files.md", jobFilePage],
  ["cli.md", cliPage],
  ["states.md", statesPage],
  ["limits.md", limitsPage],
] as const) {
  test(`docs/reference/${name} says what the code says`, async () => {
    const file = new URL(`docs/reference/${name}`, root);
    if (process.env["UPDATE_REFERENCE"] === "1") writeFileSync(file, await page());
    expect(readFileSync(file, "utf8")).toBe(await page());
  });
}

test("every call and every field of the public schema is documented", () => {
  const missing = new Set<string>();
  for (const { name, input, output } of Busbar.methods) {
    if (docs[`busbar.v1.Busbar.${name}`] === undefined) missing.add(`Busbar.${name}`);
    for (const { typeName, fields } of [input, output]) {
      for (const field of fields) {
        const names = [field, ...(field.message?.fields ?? [])];
        for (const one of names) {
          const full = `${one.parent.typeName}.${one.name}`;
          if (docs[full] === undefined) missing.add(`${typeName}: ${full}`);
        }
      }
    }
  }
  expect([...missing]).toEqual([]);
});

test.each([
  ["comments", "docs.ts", "proto/describe.ts"],
  ["tables", "tables.ts", "proto/tabulate.ts"],
])("the generated %s are those of the .proto files", (_, file, program) => {
  const before = readFileSync(new URL(`src/gen/busbar/v1/${file}`, root), "utf8");
  const made = execFileSync("node", [program, "--print"], {
    cwd: root,
    encoding: "utf8",
    env: {
      ...process.env,
      PATH: `${new URL("node_modules/.bin", root).pathname}:${process.env["PATH"] ?? ""}`,
    },
  });
  expect(made).toBe(before);
});
