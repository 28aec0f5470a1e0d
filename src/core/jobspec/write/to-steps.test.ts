import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AppError } from "../../../lib/errors.ts";
import { checkJobspec, parseJobspec } from "../read/parse.ts";
import { document } from "../testing/arbitrary.ts";
import { EXPERIMENTAL, FLUX_V1, SPACK_IOR } from "../testing/documents.ts";
import { toSteps } from "./to-steps.ts";

const steps = (text: string) => toSteps(parseJobspec(text));
const HEAD = `version: 1
resources:
  r: {type: node, count: 1, with: [{type: core, count: 2}]}
  wide: {type: node, count: 2, with: [{type: slot, count: 2, with: [{type: core, count: 6}, {type: gpu, count: 2}, {type: memory, count: 2, unit: GiB}]}]}
`;

test("a task that uses built software runs only after the build", () => {
  const shape = {
    nodes: 1,
    processes: 1,
    coresPerProcess: 10,
    gpusPerProcess: 0,
    memoryBytesPerProcess: 0,
    isExclusive: false,
  };
  const common = { env: {}, cwd: undefined, timeLimitMs: undefined, copies: 1, shape };
  const launch = "each-process";
  expect(steps(SPACK_IOR)).toEqual([
    {
      ...common,
      launch,
      name: "build",
      after: [],
      script: "#!/bin/sh\nexec spack install ior\n",
    },
    {
      ...common,
      launch,
      name: "ior",
      after: ["build"],
      script: "#!/bin/sh\nexec bash -c 'spack load ior\nior -b 10g -O summaryFormat=json\n'\n",
    },
  ]);
});

test("groups are flattened: others depend on them as a whole, and their tasks run in their resources", () => {
  const found = steps(`${HEAD}
attributes: {duration: 1h, environment: {A: outer, B: outer}}
tasks:
- {name: first, command: [x], resources: r}
- {group: g, depends_on: [first]}
- {name: last, command: [x], resources: r, depends_on: [g], attributes: {duration: 90}}
groups:
- name: g
  resources: wide
  attributes: {cwd: /data, environment: {A: inner}}
  tasks: [{name: a, command: [x]}, {name: b, command: [x], resources: r, depends_on: [a, h]}]
  groups: [{name: h, depends_on: [a], tasks: [{name: c, command: [x]}]}]
`);
  expect(found.map(({ name, after, shape, cwd }) => [name, after, shape.processes, cwd])).toEqual([
    ["first", [], 1, undefined],
    ["g/a", ["first"], 4, "/data"],
    ["g/h/c", ["g/a"], 4, "/data"],
    ["g/b", ["g/a", "g/h/c"], 1, "/data"],
    ["last", ["g/a", "g/b", "g/h/c"], 1, undefined],
  ]);
  expect(found.map(({ env, timeLimitMs }) => [env["A"], env["B"], timeLimitMs])).toEqual([
    ["outer", "outer", 3_600_000],
    ["inner", "outer", 3_600_000],
    ["inner", "outer", 3_600_000],
    ["inner", "outer", 3_600_000],
    ["outer", "outer", 90_000],
  ]);
});

describe("shapes", () => {
  const shapeOf = (task: string) => {
    const [step] = steps(`${HEAD}tasks: [{command: [x], ${task}}]`);
    const { nodes, processes, coresPerProcess, gpusPerProcess, memoryBytesPerProcess } =
      step?.shape ?? {};
    return [
      step?.copies,
      nodes,
      processes,
      coresPerProcess,
      gpusPerProcess,
      memoryBytesPerProcess,
    ].join(" ");
  };
  const table: readonly (readonly [string, string])[] = [
    ["resources: r", "1 1 1 2 0 0"],
    ["resources: r, replicas: 3", "3 1 1 2 0 0"],
    ["resources: wide", "1 2 4 6 2 2147483648"],
    ["resources: wide, count: {per_slot: 2}", "1 2 8 3 1 1073741824"],
    ["resources: wide, count: {total: 3}", "1 2 3 6 2 2147483648"],
    ["resources: r|wide", "1 1 1 2 0 0"],
    ["local: true, replicas: 2", "2  1 0 0 0"],
    ["local: true, resources: wide", "1  1 0 0 0"],
  ];
  for (const [task, want] of table) test(task, () => expect(shapeOf(task)).toBe(want));

  test("a slot of two nodes has a process on each", () => {
    const [step] = steps(`version: 1
resources: {r: {type: rack, replicas: 3, with: [{type: node, count: 2, exclusive: true, with: [{type: core, count: 4}]}]}}
tasks: [{command: [x], resources: r}]`);
    expect(step?.shape).toMatchObject({
      nodes: 6,
      processes: 6,
      coresPerProcess: 4,
      isExclusive: true,
    });
  });

  test("flux V1", () => {
    const [step] = steps(FLUX_V1);
    expect(step?.shape).toMatchObject({ nodes: 2, processes: 6, coresPerProcess: 4 });
    expect(step).toMatchObject({ cwd: "/data", timeLimitMs: 90_500, copies: 1 });
  });
});

test("a duration of 0 is no limit", () => {
  const [step] = steps(`${HEAD}tasks: [{command: [x], local: true, attributes: {duration: 0}}]`);
  expect(step?.timeLimitMs).toBeUndefined();
});

test("scripts keep their first line, or get one", () => {
  const script = (work: string) => steps(`${HEAD}tasks: [{${work}, resources: r}]`)[0]?.script;
  expect(script("script: echo hi")).toBe("#!/bin/sh\necho hi");
  expect(script('command: "#!/usr/bin/env python3\\n1"')).toBe("#!/usr/bin/env python3\n1");
  expect(script('command: [echo, "it\'s", ""]')).toBe("#!/bin/sh\nexec echo 'it'\\''s' ''\n");
});

test("a task that writes files does so in a directory of its own, unless the jobspec sets one", () => {
  const text = EXPERIMENTAL.replace("key: sharedfs, value: false", "key: sharedfs, value: true");
  const [own] = steps(text);
  expect(own?.script).toMatch(
    /^#!\/bin\/sh\nset -e\nbusbar_directory=.*\ncd "\$busbar_directory"\n/,
  );
  const [told] = steps(`${text}  system: {cwd: /data}\n`);
  expect([told?.cwd, told?.script.includes("busbar_directory")]).toEqual(["/data", false]);
});

test("a file that cannot be staged is rejected by name", () => {
  const text = EXPERIMENTAL.replace(
    "{step: write, filename: frame.sh, executable: true}",
    "{step: unset, key: stage}",
  );
  expect(() => steps(text)).toThrow(/cannot stage frame.sh: nothing copies files to the nodes/);
});

test("in any document names are unique, and each step comes after its dependencies", () => {
  let several = 0;
  fc.assert(
    fc.property(document, (each) => {
      const checked = checkJobspec(JSON.stringify(each));
      if (checked.kind === "invalid") return;
      const seen = new Set<string>();
      try {
        for (const { name, after, script, copies, shape } of toSteps(checked.jobspec)) {
          for (const before of after) expect(seen).toContain(before);
          expect(seen).not.toContain(name);
          expect(script).toMatch(/^#!/);
          expect(Math.min(copies, shape.processes)).toBeGreaterThan(0);
          seen.add(name);
        }
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
      }
      if (seen.size > 1) several += 1;
    }),
    { numRuns: 150 },
  );
  expect(several).toBeGreaterThan(10);
});

test("nodes that are slots are requested, and gpus with children count", () => {
  const shapeOf = (resource: string) =>
    steps(`version: 1
resources: {r: ${resource}}
tasks: [{command: [x], resources: r}]
`)[0]?.shape;
  expect(shapeOf("{type: node, replicas: 4, with: [{type: core, count: 2}]}")).toMatchObject({
    nodes: 4,
    processes: 4,
    coresPerProcess: 2,
  });
  const inside = "[{type: core, count: 8}, {type: gpu, count: 2, with: [{type: hbm, count: 1}]}]";
  expect(shapeOf(`{type: node, count: 2, with: ${inside}}`)).toMatchObject({
    nodes: 2,
    coresPerProcess: 8,
    gpusPerProcess: 2,
  });
});
