import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { AppError } from "../../../lib/errors.ts";
import type { JobspecItem, JobspecTask, TaskGroup } from "../model.ts";
import { NO_ATTRIBUTES, scheduledResources } from "../model.ts";
import { checkJobspec, parseJobspec } from "./parse.ts";
import { toNextgen } from "../write/to-nextgen.ts";
import { DRAFT_2, EXPERIMENTAL, FLUX_V1, NEXTGEN } from "../testing/documents.ts";

const vertex = {
  unit: undefined,
  isSlot: false,
  isExclusive: false,
  label: undefined,
  requires: [],
  with: [],
};
const oneOf = (subsystem: string, field: string, ...values: string[]) => ({
  subsystem,
  conditions: [{ kind: "one-of", field, values }],
});

function find(items: readonly JobspecItem[], path: string): JobspecItem {
  for (const item of items) {
    if (item.path === path) return item;
    if (path.startsWith(`${item.path}/`) && item.kind === "group") return find(item.items, path);
  }
  throw new Error(`no ${path}`);
}

describe("flux V1", () => {
  const jobspec = parseJobspec(FLUX_V1);
  test("is one task in the slots of one resource", () => {
    const tree = {
      ...vertex,
      type: "node",
      count: 2,
      with: [
        {
          ...vertex,
          type: "slot",
          count: 3,
          isSlot: true,
          label: "solver",
          with: [
            { ...vertex, type: "core", count: 4 },
            { ...vertex, type: "gpu", count: 1 },
          ],
        },
      ],
    };
    expect(jobspec).toEqual({
      dialect: "flux-v1",
      name: "mesh",
      attributes: {
        durationMs: 90_500,
        cwd: "/data",
        environment: { MODE: "0644", EMPTY: "" },
        extras: { system: { job: { name: "mesh" }, queue: "night" } },
      },
      resources: new Map([
        [
          "solver",
          {
            at: { line: 4, column: 3 },
            request: tree,
            attributes: NO_ATTRIBUTES,
            isScheduled: false,
          },
        ],
      ]),
      requires: new Map(),
      items: [
        {
          kind: "task",
          name: "task-0",
          path: "task-0",
          at: { line: 14, column: 3 },
          asks: [["solver"]],
          resources: [[tree]],
          requires: undefined,
          dependsOn: [],
          attributes: NO_ATTRIBUTES,
          replicas: 1,
          processes: { kind: "per-slot", count: 1 },
          isLocal: false,
          work: {
            scripts: [],
            steps: [],
            run: { kind: "command", argv: ["solve", "--mesh", "fine grid"] },
          },
        },
      ],
    });
  });
});

describe("experimental", () => {
  const jobspec = parseJobspec(EXPERIMENTAL);
  const task = jobspec.items[0] as JobspecTask;
  test("has scripts and steps", () => {
    expect(jobspec.dialect).toBe("experimental");
    expect(jobspec.attributes.extras).toEqual({ parameter: { frames: 7 } });
    expect(task.processes).toEqual({ kind: "total", count: 3 });
    expect(task.work).toEqual({
      scripts: [
        { name: "frame.sh", content: `#!/bin/sh\necho "it's frame $1"\n` },
        { name: "notes.txt", content: "plain" },
      ],
      steps: [
        { kind: "set-shared", isShared: false },
        { kind: "write", script: "frame.sh", isExecutable: true },
        { kind: "stage", path: "frame.sh" },
        { kind: "submit", script: "frame.sh", isWatched: true },
        { kind: "set-shared", isShared: undefined },
        { kind: "batch", script: "notes.txt" },
      ],
      run: undefined,
    });
  });

  test("requirements of the task apply to the top of its slot, by priority, as written", () => {
    const wanted = [oneOf("io", "storage", "shm", "disk"), oneOf("os", "os.release", "22.10")];
    expect(jobspec.requires.get("task-requires")).toEqual(wanted);
    expect(task.resources[0]?.[0]?.requires).toEqual([]);
    expect(task.resources[0]?.[0]?.with[0]?.requires).toEqual(wanted);
  });

  test("a script alone is the command", () => {
    const text =
      "version: 1\nresources: [{type: core, count: 1}]\ntask: {scripts: [{name: a, content: hi}]}";
    expect((parseJobspec(text).items[0] as JobspecTask).work).toEqual({
      scripts: [],
      steps: [],
      run: { kind: "script", text: "hi" },
    });
  });

  test("resources may be a map, as in nextgen", () => {
    const text = "version: 1\nresources: {ior: {type: node, replicas: 2}}\ntask: {command: [ior]}";
    expect(parseJobspec(text)).toMatchObject({
      dialect: "experimental",
      items: [{ asks: [["ior"]] }],
    });
  });
});

describe("draft 2", () => {
  const jobspec = parseJobspec(DRAFT_2);
  const group = jobspec.items[0] as TaskGroup;
  test("resources are written where they are used; a group has those of its tasks", () => {
    expect(jobspec.dialect).toBe("draft-2");
    expect([...jobspec.resources.keys()]).toEqual(["compile-resources", "task-1-resources"]);
    expect(group.asks).toEqual([["compile-resources", "task-1-resources"]]);
    expect(group.items.map(({ path, asks }) => [path, asks])).toEqual([
      ["build/compile", [["compile-resources"]]],
      ["build/build-task-1", [["task-1-resources"]]],
    ]);
  });

  test("requirements apply to all, unless a task overrides them", () => {
    const [compile, check] = group.items;
    const arm = oneOf("io.archspec", "cpu.target", "arm64");
    expect(compile?.resources[0]?.[0]?.requires).toEqual([
      arm,
      oneOf("hardware", "hardware.gpu.available", "no"),
    ]);
    expect(check?.resources[0]?.[0]?.requires).toEqual([
      arm,
      oneOf("hardware", "hardware.gpu.available", "yes"),
    ]);
  });

  test("a command line is split as a shell would", () => {
    const compile = group.items[0] as JobspecTask;
    expect(compile.work.run).toEqual({ kind: "command", argv: ["make", "-j4", "all of it"] });
  });
});

describe("nextgen", () => {
  const jobspec = parseJobspec(NEXTGEN);
  test("groups run where they are placed, else where they are defined", () => {
    expect(jobspec.items.map(({ path }) => path)).toEqual(["fetch", "report", "train"]);
    const train = find(jobspec.items, "train") as TaskGroup;
    expect(train.items.map(({ path, kind }) => [kind, path])).toEqual([
      ["task", "train/prepare"],
      ["task", "train/fit"],
      ["group", "train/score"],
    ]);
  });

  test("dependencies are looked up among siblings, then outwards", () => {
    expect(find(jobspec.items, "train").dependsOn).toEqual(["fetch"]);
    expect(find(jobspec.items, "train/score").dependsOn).toEqual(["train/fit"]);
    expect(find(jobspec.items, "report").dependsOn).toEqual(["train"]);
  });

  test("alternatives are in order of preference; requirements of group and task go to the nodes", () => {
    const fit = find(jobspec.items, "train/fit");
    const version = {
      subsystem: "spack",
      conditions: [{ kind: "version", field: "version", min: "0.5.1", max: "0.6" }],
    };
    const python = {
      subsystem: "spack",
      conditions: [
        { kind: "one-of", field: "type", values: ["package"] },
        { kind: "one-of", field: "name", values: ["python", "pypy"] },
      ],
    };
    expect(fit.requires).toEqual([["python"]]);
    expect(fit.resources).toEqual([
      [
        {
          ...vertex,
          type: "node",
          count: 1,
          requires: [version, python],
          with: [{ ...vertex, type: "gpu", count: 1 }],
        },
      ],
      [
        {
          ...vertex,
          type: "node",
          count: 1,
          isSlot: true,
          requires: [version, python],
          with: [{ ...vertex, type: "core", count: 4 }],
        },
      ],
    ]);
  });

  test("a task or group without resources has those of its group", () => {
    const score = find(jobspec.items, "train/score/score-task-0");
    expect(score.asks).toBeUndefined();
    expect(score.resources[0]?.[0]).toMatchObject({ type: "node", count: 4 });
    expect(score.resources[0]?.[0]?.requires).toHaveLength(1); // the group's
    expect(find(jobspec.items, "train/prepare")).toMatchObject({ isLocal: true });
  });

  test("only marked resources are requested of a scheduler, or all when none is marked", () => {
    expect(scheduledResources(jobspec).map(({ count }) => count)).toEqual([4]);
    const plain = parseJobspec(NEXTGEN.replace("schedule: true", "schedule: false"));
    expect(scheduledResources(plain)).toHaveLength(3);
  });

  test("JSON has the same meaning", () => {
    const json = parseJobspec(JSON.stringify(parseYaml(NEXTGEN)));
    const paths = (items: readonly JobspecItem[]): unknown =>
      items.map((item) => [item.path, item.resources, item.kind === "group" && paths(item.items)]);
    expect(paths(json.items)).toEqual(paths(jobspec.items));
  });

  test("empty attributes, which Go programs write everywhere, mean nothing", () => {
    const written = parseJobspec(
      `version: 1
resources: {a: {type: rack, replicas: 1, attributes: {}, with: [{type: node, count: 2, attributes: {}}]}}
tasks: [{command: [x], resources: a, attributes: {}}]`,
    );
    const inside = [{ ...vertex, type: "node", count: 2 }];
    expect(written.resources.get("a")).toMatchObject({
      attributes: NO_ATTRIBUTES,
      request: { ...vertex, type: "rack", isSlot: true, with: inside },
    });
  });

  test("a name stays a text, also where YAML 1.1 would read a boolean", () => {
    const text =
      "version: 1\nresources: {n: {type: node, count: 1}}\ntasks: [{name: y, command: [x], resources: n}]";
    expect(parseJobspec(text).items[0]).toMatchObject({ name: "y", asks: [["n"]] });
  });

  test("items without a name get a free one", () => {
    const text = `version: 1
resources: {r: {type: node, count: 1}}
tasks: [{command: [a], resources: r}, {name: task-0, command: [b], resources: r}]
groups: [{resources: r, tasks: [{command: [c]}]}]`;
    expect(parseJobspec(text).items.map(({ name }) => name)).toEqual([
      "task-0-2",
      "task-0",
      "group-0",
    ]);
  });

  test("an inner group may be placed by its own group, and names may shadow outer ones", () => {
    const text = `version: 1
resources: {r: {type: node, count: 1}}
tasks: [{name: x, command: [a], resources: r}]
groups:
- name: g
  resources: r
  groups: [{name: h, tasks: [{name: x, command: [b]}, {name: z, command: [c], depends_on: [x, y]}]}]
  tasks: [{name: y, command: [d], depends_on: [x]}, {group: h}]`;
    const { items } = parseJobspec(text);
    expect(find(items, "g/h/z").dependsOn).toEqual(["g/h/x", "g/y"]);
    expect(find(items, "g/y").dependsOn).toEqual(["x"]);
  });
});

test("several problems are reported at once, in the order of the document", () => {
  const text = `version: 2
resources:
  a: {type: node, count: 0}
tasks:
- command: [x]
  resources: b
- resources: a
  depends_on: [nobody]`;
  const error = (() => {
    try {
      return parseJobspec(text);
    } catch (thrown) {
      return thrown;
    }
  })();
  expect(error).toBeInstanceOf(AppError);
  expect(error).toMatchObject({ code: "unprocessable", field: "version" });
  expect((error as AppError).message.split("\n")).toEqual([
    "line 1, column 10: version: must be 1, not 2",
    "line 3, column 26: resources.a.count: must be a whole number from 1, not 0",
    'line 6, column 14: tasks[0].resources: there is no resource named "b"; did you mean "a"?',
    "line 7, column 3: tasks[1]: needs something to run: command, script or steps",
    'line 8, column 16: tasks[1].depends_on[0]: there is no task or group named "nobody"; there are task-0, task-1',
  ]);
});

test("the number of problems shown is limited", () => {
  const text = `version: 1\nresources: {}\ntasks:\n${"- {}\n".repeat(1_000)}`;
  const checked = checkJobspec(text);
  expect(checked).toMatchObject({ kind: "invalid", count: 2_000 });
  expect(checked.kind === "invalid" && checked.problems).toHaveLength(20);
  expect(() => parseJobspec(text)).toThrow(/\nand 1980 more$/);
});

test("match together with min and max requires both, and is written so", () => {
  const jobspec = parseJobspec(`version: 1
resources:
  r: {type: node, count: 1, requires: [{name: spack, field: version, match: "0.6", min: "0.5", max: "0.7"}]}
tasks: [{command: [x], resources: r}]
`);
  const { requires } = jobspec.resources.get("r")?.request ?? { requires: [] };
  expect(requires).toEqual([
    {
      subsystem: "spack",
      conditions: [
        { kind: "version", field: "version", min: "0.5", max: "0.7" },
        { kind: "one-of", field: "version", values: ["0.6"] },
      ],
    },
  ]);
  const again = parseJobspec(JSON.stringify(toNextgen(jobspec)));
  expect(again.resources.get("r")?.request.requires).toEqual(requires);
});
