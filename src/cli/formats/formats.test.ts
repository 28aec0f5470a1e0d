import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { runHere } from "../testing/context.ts";
import { startFakeServer } from "../testing/fake-server.ts";
import { toCsv } from "./csv-text.ts";
import { outputFormats } from "./output-format.ts";
import { toYaml } from "./yaml-text.ts";

describe("YAML", () => {
  const line = fc.oneof(
    fc.string(),
    fc.constantFrom("yes", "012", "a: b", "- x", "1:30", " x", "#"),
  );
  const text = fc.oneof(
    line,
    fc.string({ unit: "binary" }),
    fc.array(line).map((all) => all.join("\n")),
  );
  const value = fc
    .jsonValue({ maxDepth: 4, noUnicodeString: false })
    .map((json) => json as unknown);
  const nested = fc.oneof(
    value,
    text,
    fc.array(text),
    fc.dictionary(text, fc.oneof(text, fc.array(fc.dictionary(text, text)))),
  );

  for (const version of ["1.1", "1.2"] as const) {
    test(`a reader of ${version} reads the same value`, () => {
      fc.assert(
        fc.property(nested, (given) => {
          const json = JSON.parse(JSON.stringify(given)) as unknown;
          expect(parse(toYaml(json), { version, merge: false })).toEqual(json);
        }),
      );
    });
  }

  test("looks as people write it", () => {
    const row = { id: "17", spec: { name: "a b", script: "set -e\n\n./x\n", on: "yes" }, past: [] };
    expect(toYaml({ jobs: [row, { id: "x" }], more: true })).toBe(`jobs:
- id: "17"
  spec:
    name: a b
    script: |
      set -e

      ./x
    "on": "yes"
  past: []
- id: x
more: true
`);
  });

  test("contains no control sequences for a terminal", () => {
    fc.assert(
      fc.property(text, (given) => {
        expect(toYaml({ given })).not.toMatch(/(?!\n)[\p{Cc}\u202a-\u202e]/u);
      }),
    );
  });
});

test("CSV quotes as RFC 4180 requires", () => {
  expect(
    toCsv(
      ["a", "b"],
      [
        ["1", 'say "hi", you'],
        ["two\nlines", ""],
      ],
    ),
  ).toBe('a,b\n1,"say ""hi"", you"\n"two\nlines",');
});

describe("--output", () => {
  let server: Awaited<ReturnType<typeof startFakeServer>>;
  beforeAll(async () => {
    server = await startFakeServer();
  });
  afterAll(() => server.close());
  const run = (line: string) => runHere(["--server", server.address, ...line.split(" ")]);

  const LISTS: readonly string[] = [
    "jobs",
    "jobs --count",
    "job 7",
    "nodes",
    "nodes rack1-7",
    "nodes show rack1-7",
    "groups",
    "clusters",
    "cluster list",
    "services",
  ];

  for (const list of LISTS) {
    test(`every format of ${list}`, async () => {
      const json = JSON.parse((await run(`${list} -o json`)).stdout) as unknown;
      const yaml = await run(`${list} -o yaml`);
      expect(parse(yaml.stdout)).toEqual(json);
      const csv = (await run(`${list} -o csv`)).stdout.trimEnd().split("\n");
      expect(csv[0]).toMatch(/^[a-z_]+(,[a-z_]+)+$/);
      const names = (await run(`${list} -o name`)).stdout.trimEnd().split("\n");
      expect(csv).toHaveLength(names.length + 1);
      const wide = await run(`${list} -o wide`);
      expect([wide.code, wide.stderr.replace(/.*see more.*\n/, "")]).toEqual([0, ""]);
    });
  }

  test("names are the arguments that commands accept", async () => {
    const { stdout } = await run("jobs --limit 3 -o name");
    expect(stdout).toBe("120\n119\n118\n");
    expect((await run("nodes -o name")).stdout).toBe("rack1-7\n");
  });

  test("wide has more columns, and CSV has plain values in all of them", async () => {
    expect((await run("nodes")).stdout).not.toContain("WHEN LOST");
    expect((await run("nodes -o wide")).stdout).toContain("WHEN LOST");
    const [header = "", row = ""] = (await run("nodes -o csv")).stdout.split("\n");
    const cells = Object.fromEntries(
      header.split(",").map((name, at) => [name, row.split(",")[at]]),
    );
    expect(cells).toMatchObject({
      name: "rack1-7",
      cpu: "8",
      cpu_used: "1.5",
      memory: "34359738368",
    });
    const jobs = (await run("jobs --limit 1 -o csv")).stdout.split("\n");
    expect(jobs[1]).toContain("1970-01-01T00:02:00.000Z");
  });

  test("wide is not truncated to the terminal", async () => {
    const written: string[] = [];
    const stdout = {
      isTerminal: true,
      columns: 30,
      rows: 10,
      write: async (data: string | Uint8Array) => void written.push(String(data)),
    };
    await runHere(["--server", server.address, "nodes", "-o", "wide"], { stdout });
    expect(written.join("")).toContain("requeue");
    written.length = 0;
    await runHere(["--server", server.address, "nodes"], { stdout });
    expect(written.join("")).toContain("…");
  });

  test("an unknown format is wrong usage, and the error names the known ones", async () => {
    const { code, stderr } = await run("jobs -o yml");
    expect(code).toBe(2);
    expect(stderr).toContain(
      `"yml" is not one of ${outputFormats.join(", ")} (did you mean yaml?)`,
    );
  });

  test("a change whose answer has no rows is rejected before it is made", async () => {
    const { code, stderr } = await run("cancel 3 -o csv");
    expect(code).toBe(2);
    expect(stderr).toContain("--output: csv is for commands that list or show rows");
    expect(server.cancelled).toEqual([]);
  });

  test("errors are YAML when YAML was requested", async () => {
    const { code, stdout } = await run("job 999 -o yaml");
    expect(code).toBe(1);
    expect(parse(stdout)).toMatchObject({ error: { code: "not_found" } });
    const early = await run("jobs --limit x -o yaml");
    expect(parse(early.stdout)).toMatchObject({ error: { code: "invalid_argument" } });
  });
});
