import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { parseJobFile } from "./job-file.ts";
import { runHere } from "../testing/context.ts";

const WORKFLOW = `version: 1
name: two
resources: {r: {type: node, count: 1, with: [{type: core, count: 2}, {type: memory, count: 1, unit: GiB}]}}
groups:
- name: g
  resources: r
  attributes: {duration: 90s, environment: {WHO: "it's me"}}
  tasks:
  - {name: a, command: [echo, "a b"], replicas: 2}
  - {name: b, local: true, script: "echo b", depends_on: [a]}
`;
const WRONG = "version: 1\nresources: {}\ntasks: [{command: [x], resources: r, replica: 2}]\n";

/** Runs with one file, or the same on standard input. */
const run = (line: string, content = WORKFLOW) =>
  runHere(["jobspec", ...line.split(" ")], {
    readInput: (path) =>
      path === "job.yaml" || path === "-"
        ? Promise.resolve(Buffer.from(content))
        : Promise.reject(new Error(path)),
  });

describe("validate", () => {
  test("prints what it is", async () => {
    expect(await run("validate job.yaml")).toMatchObject({
      code: 0,
      stdout: "job.yaml is a valid jobspec (nextgen): 2 tasks in 1 group\n",
      stderr: "",
    });
    const json = await run("validate - --output json");
    expect(JSON.parse(json.stdout)).toEqual({
      valid: true,
      dialect: "nextgen",
      name: "two",
      tasks: 2,
      groups: 1,
    });
  });

  test("prints all problems as data, and exits 1", async () => {
    expect(await run("validate job.yaml", WRONG)).toMatchObject({
      code: 1,
      stdout:
        'job.yaml: line 3, column 35: tasks[0].resources: there is no resource named "r"; there are none\n' +
        'job.yaml: line 3, column 38: tasks[0]: unknown key "replica"; did you mean "replicas"?\n',
      stderr: "",
    });
    const json = await run("validate - -o json", WRONG);
    expect([json.code, JSON.parse(json.stdout)]).toEqual([
      1,
      {
        valid: false,
        count: 2,
        problems: [
          {
            line: 3,
            column: 35,
            field: "tasks[0].resources",
            message: 'there is no resource named "r"; there are none',
          },
          {
            line: 3,
            column: 38,
            field: "tasks[0]",
            message: 'unknown key "replica"; did you mean "replicas"?',
          },
        ],
      },
    ]);
  });
});

describe("convert", () => {
  test("to nextgen prints YAML, or the same as JSON", async () => {
    const [text, json] = [
      await run("convert job.yaml --to nextgen"),
      await run("convert job.yaml --to nextgen -o json"),
    ];
    expect([text.code, json.code]).toEqual([0, 0]);
    expect(parseYaml(text.stdout)).toEqual(JSON.parse(json.stdout));
    expect(await run("convert - --to nextgen", text.stdout)).toEqual(text);
  });

  test("to busbar prints a file that submit accepts", async () => {
    const { stdout, code } = await run("convert job.yaml --to busbar");
    expect(code).toBe(0);
    expect(stdout).toContain("# local: meant to run where the jobspec is run\n- name: g/b");
    expect(parseJobFile(stdout, "jobs.yaml").map(({ spec }) => spec)).toEqual([
      {
        name: "g/a",
        command: ["echo", "a b"],
        env: { WHO: "it's me" },
        resources: { cpu: 2, memory: 1_073_741_824 },
        array: "0-1",
        timeLimitMs: 90_000n,
      },
      {
        name: "g/b",
        script: "echo b",
        env: { WHO: "it's me" },
        timeLimitMs: 90_000n,
        dependsOn: [{ kind: "afterok", on: ["g/a"] }],
      },
    ]);
    const json = await run("convert job.yaml --to busbar -o json");
    expect(JSON.parse(json.stdout)).toMatchObject({
      jobs: [
        { name: "g/a", isLocal: false },
        { name: "g/b", spec: { dependsOn: [{ on: ["g/a"] }] }, isLocal: true },
      ],
    });
  });

  test("names parts that the target cannot express", async () => {
    expect(await run("convert job.yaml --to flux-v1")).toMatchObject({
      code: 2,
      stdout: "",
      stderr: 'busbar: Flux V1 cannot express a group ("g")\n',
    });
  });
});

describe("plan", () => {
  test("is a script, by default for this machine", async () => {
    const { stdout, code } = await run("plan job.yaml");
    expect(code).toBe(0);
    expect(stdout).toBe(await run("plan job.yaml --for process").then((each) => each.stdout));
    expect(stdout).toMatchInlineSnapshot(`
      "#!/bin/sh
      set -e
      # g/a
      (i=0 && while [ "$i" -lt 2 ]; do BUSBAR_ARRAY_INDEX=$i env 'WHO=it'\\''s me' timeout 90 echo 'a b' || exit; i=$((i + 1)); done)
      # g/b, after g/a
      env 'WHO=it'\\''s me' timeout 90 /bin/sh -c 'echo b'
      "
    `);
  });

  test("as JSON it is its steps", async () => {
    const { stdout } = await run("plan - --for slurm -o json");
    expect(JSON.parse(stdout)).toMatchObject({
      for: "slurm",
      steps: [
        { name: "g/a", after: [], line: expect.stringContaining("sbatch --parsable") },
        { name: "g/b", after: ["g/a"] },
      ],
    });
    expect((await run("plan job.yaml --for flux")).stdout).toContain("flux batch --job-name=g");
  });
});

describe("a wrong command line exits 2", () => {
  const cases: readonly [string, RegExp, string?][] = [
    ["convert job.yaml", /required option '--to <form>' not specified/],
    ["convert job.yaml --to fluxv1", /--to: "fluxv1" is not one of .* \(did you mean flux-v1\?\)/],
    ["plan job.yaml --for pbs", /--for: "pbs" is not one of process, flux, slurm/],
    ["vaildate job.yaml", /unknown command 'vaildate' \(Did you mean validate\?\)/],
    ["validate", /missing required argument 'file'/],
    ["convert job.yaml --to nextgen", /job\.yaml: line 3, column 35: tasks\[0\]\.resources/, WRONG],
    ["plan -", /stdin: line 3, column 38: tasks\[0\]: unknown key "replica"/, WRONG],
  ];
  for (const [line, want, content] of cases) {
    test(line, async () => {
      const { code, stdout, stderr } = await run(line, content);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toMatch(want);
    });
  }
});

test("the example in the repository is valid and can run on single nodes", async () => {
  const content = readFileSync(new URL("../../../examples/jobspec.yaml", import.meta.url), "utf8");
  expect((await run("validate job.yaml", content)).code).toBe(0);
  for (const target of ["process", "flux", "slurm"]) {
    expect((await run(`plan job.yaml --for ${target}`, content)).code).toBe(0);
  }
  expect((await run("convert job.yaml --to busbar", content)).code).toBe(0);
});
