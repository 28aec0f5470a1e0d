import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse as parseYaml, stringify as toYaml } from "yaml";
import { AppError } from "../../lib/errors.ts";
import type { ResourceRequest } from "../graph/request/request.ts";
import { toJobSpec } from "../model/job/job-spec.ts";
import { flattenTasks } from "./flatten.ts";
import type { Jobspec, JobspecItem } from "./model.ts";
import { checkJobspec, parseJobspec } from "./read/parse.ts";
import { plan, planTargets, toScript } from "./plan/plan.ts";
import { shapeOf } from "./shape.ts";
import { document } from "./testing/arbitrary.ts";
import { DRAFT_2, EXPERIMENTAL, FLUX_V1, NEXTGEN } from "./testing/documents.ts";
import { toBusbarJobs } from "./write/to-busbar.ts";
import { toFluxV1 } from "./write/to-flux-v1.ts";
import { toNextgen } from "./write/to-nextgen.ts";
import { toSteps } from "./write/to-steps.ts";

const START = { line: 1, column: 1 };

/** What a jobspec says, wherever and in whatever dialect it is written. */
function meaning(jobspec: Jobspec): unknown {
  const unplaced = (item: JobspecItem): unknown =>
    item.kind === "group"
      ? { ...item, at: START, items: item.items.map(unplaced) }
      : { ...item, at: START };
  return {
    ...jobspec,
    dialect: "nextgen",
    resources: new Map(
      [...jobspec.resources].map(([name, each]) => [name, { ...each, at: START }]),
    ),
    items: jobspec.items.map(unplaced),
  };
}

const DIALECTS = [
  ["flux V1", FLUX_V1],
  ["experimental", EXPERIMENTAL],
  ["draft 2", DRAFT_2],
  ["nextgen", NEXTGEN],
] as const;

describe("to nextgen", () => {
  for (const [name, text] of DIALECTS) {
    test(`a document in ${name} means the same afterwards`, () => {
      const jobspec = parseJobspec(text);
      const converted = toNextgen(jobspec);
      expect(meaning(parseJobspec(JSON.stringify(converted)))).toEqual(meaning(jobspec));
      expect(meaning(parseJobspec(toYaml(converted)))).toEqual(meaning(jobspec));
      expect(parseJobspec(toYaml(converted)).dialect).toBe("nextgen");
    });
  }

  test("any document means the same afterwards", () => {
    let valid = 0;
    let runs = 0;
    fc.assert(
      fc.property(document, (each) => {
        runs += 1;
        const checked = checkJobspec(JSON.stringify(each));
        if (checked.kind === "invalid") return;
        valid += 1;
        const again = checkJobspec(JSON.stringify(toNextgen(checked.jobspec)));
        expect(again).toMatchObject({ kind: "valid" });
        expect(again.kind === "valid" && meaning(again.jobspec)).toEqual(meaning(checked.jobspec));
      }),
      { numRuns: 150 },
    );
    expect(valid / runs).toBeGreaterThan(0.3);
  });
});

describe("to flux V1", () => {
  test("a document in flux V1 is the same afterwards", () => {
    expect(toFluxV1(parseJobspec(FLUX_V1))).toEqual({
      version: 1,
      resources: [
        {
          type: "node",
          count: 2,
          with: [
            {
              type: "slot",
              label: "solver",
              count: 3,
              with: [
                { type: "core", count: 4 },
                { type: "gpu", count: 1 },
              ],
            },
          ],
        },
      ],
      tasks: [
        { command: ["solve", "--mesh", "fine grid"], slot: "solver", count: { per_slot: 1 } },
      ],
      attributes: {
        system: {
          duration: 90.5,
          cwd: "/data",
          environment: { MODE: "0644", EMPTY: "" },
          job: { name: "mesh" },
          queue: "night",
        },
      },
    });
  });

  const one = (resource: string, more = "") =>
    `version: 1\nresources: {r: ${resource}}\ntasks: [{command: [x], resources: r${more}}]`;
  const core = { type: "core", count: 2 };
  const slot = (count: number, ...inside: unknown[]) => ({
    type: "slot",
    label: "task",
    count,
    with: inside,
  });
  const shapes: readonly (readonly [string, string, unknown])[] = [
    [
      "one process on each node",
      "{type: node, count: 3, with: [{type: core, count: 2}]}",
      { type: "node", count: 3, with: [slot(1, core)] },
    ],
    ["slots anywhere", "{type: node, replicas: 3, with: [{type: core, count: 2}]}", slot(3, core)],
    ["cores alone", "{type: core, count: 2}", slot(1, core)],
    [
      "a whole node",
      "{type: node, count: 1}",
      { type: "node", count: 1, with: [slot(1, { type: "core", count: 1 })] },
    ],
    [
      "sockets are only where cores are",
      "{type: node, count: 1, with: [{type: socket, count: 2, with: [{type: core, count: 1}]}]}",
      { type: "node", count: 1, with: [slot(1, core)] },
    ],
    [
      "exclusive nodes",
      "{type: node, count: 1, exclusive: true, with: [{type: core, count: 2}]}",
      { type: "node", count: 1, exclusive: true, with: [slot(1, core)] },
    ],
  ];
  for (const [name, resource, want] of shapes) {
    test(name, () => {
      const converted = toFluxV1(parseJobspec(one(resource)));
      expect(converted["resources"]).toEqual([want]);
      expect(checkJobspec(JSON.stringify(converted))).toMatchObject({ kind: "valid" });
    });
  }

  const node = "{type: node, count: 1, with: [{type: core, count: 1}]}";
  const refused: readonly (readonly [string, string])[] = [
    [
      NEXTGEN,
      'Flux V1 has no words for a group ("train")\nFlux V1 has no words for several tasks (3)',
    ],
    [
      EXPERIMENTAL,
      "Flux V1 has no words for steps\nFlux V1 has no words for requirements (io, os)",
    ],
    [one(node, ", replicas: 2"), "Flux V1 has no words for replicas (2)"],
    [one(node, ", local: true"), "Flux V1 has no words for a local task"],
    [
      one("{type: rack, replicas: 1, with: [{type: node, count: 2}]}"),
      "Flux V1 has no words for a slot of 2 nodes",
    ],
    [
      one(
        "{type: node, count: 1, with: [{type: memory, count: 1, unit: GB}, {type: fpga, count: 1}]}",
      ),
      'Flux V1 has no words for memory\nFlux V1 has no words for a resource of type "fpga"',
    ],
    [
      one(node).replace("resources: r}", "resources: r|r}"),
      "Flux V1 has no words for alternatives (2)",
    ],
    [
      one(node).replace("resources: r}", "resources: r&r}"),
      "Flux V1 has no words for several resources wanted together",
    ],
  ];
  for (const [text, want] of refused) {
    test(want.replaceAll("\n", "; "), () => {
      expect(() => toFluxV1(parseJobspec(text))).toThrow(new AppError("invalid_argument", want));
    });
  }

  test("a script is run by what its first line names", () => {
    const command = (work: string) => {
      const converted = toFluxV1(parseJobspec(one(node).replace("command: [x]", work)));
      return (converted["tasks"] as readonly { readonly command: unknown }[])[0]?.command;
    };
    expect(command("script: echo hi")).toEqual(["/bin/sh", "-c", "echo hi"]);
    expect(command('command: "#!/bin/bash\\necho hi"')).toEqual([
      "/bin/bash",
      "-c",
      "#!/bin/bash\necho hi",
    ]);
    expect(command('command: "#!/usr/bin/env python3\\n1"')).toEqual([
      "/bin/sh",
      "-c",
      expect.stringContaining("mktemp"),
      "script",
      "#!/usr/bin/env python3\n1",
    ]);
  });
});

describe("to jobs of Busbar", () => {
  const jobs = (text: string) => toBusbarJobs(parseJobspec(text)).jobs;

  test("groups become their tasks, which inherit and wait", () => {
    const small = NEXTGEN.replace("count: 4\n    schedule", "count: 1\n    schedule");
    const shown = jobs(small).map(({ name, spec, isLocal }) => ({ name, spec, isLocal }));
    expect(shown).toEqual([
      {
        name: "fetch",
        spec: {
          name: "fetch",
          command: ["fetch", "--to", "/scratch"],
          resources: { cpu: 4 },
          timeLimitMs: 14_400_000,
        },
        isLocal: false,
      },
      {
        name: "train/prepare",
        spec: {
          name: "train/prepare",
          command: ["mkdir", "-p", "out"],
          env: { SEED: "1" },
          cwd: "/scratch",
          timeLimitMs: 7_200_000,
          dependsOn: [{ on: ["fetch"] }],
        },
        isLocal: true,
      },
      {
        name: "train/fit",
        spec: {
          name: "train/fit",
          script: '#!/usr/bin/env python3\nprint("fit")\n',
          env: { SEED: "2", N: "n" },
          cwd: "/scratch",
          resources: { gpu: 1 },
          array: "0-2",
          timeLimitMs: 1_800_000,
          dependsOn: [{ on: ["train/prepare"] }],
        },
        isLocal: false,
      },
      {
        name: "train/score/task-0",
        spec: {
          name: "train/score/task-0",
          command: ["score", "all"],
          env: { SEED: "1" },
          cwd: "/scratch",
          resources: { cpu: 8, gpu: 2, memory: 32 * 1_024 ** 3 },
          timeLimitMs: 7_200_000,
          dependsOn: [{ on: ["train/fit"] }],
        },
        isLocal: false,
      },
      {
        name: "report",
        spec: {
          name: "report",
          script: "echo done",
          resources: { cpu: 4 },
          timeLimitMs: 14_400_000,
          dependsOn: [{ on: ["train/prepare", "train/fit", "train/score/task-0"] }],
        },
        isLocal: false,
      },
    ]);
  });

  const one = (resource: string, more = "") =>
    `version: 1\nresources: {r: ${resource}}\ntasks: [{name: t, command: [x], resources: r${more}}]`;
  const shapes: readonly (readonly [string, string, unknown, string?])[] = [
    [
      "a slot for each",
      "{type: node, replicas: 3, with: [{type: core, count: 2}]}",
      { cpu: 2 },
      "0-2",
    ],
    [
      "slots on nodes",
      "{type: node, count: 2, with: [{type: slot, count: 2, with: [{type: core, count: 1}]}]}",
      { cpu: 1 },
      "0-3",
    ],
    [
      "a rack around one node",
      "{type: rack, count: 1, with: [{type: node, count: 1, with: [{type: core, count: 8}]}]}",
      { cpu: 8 },
    ],
    ["a node of which nothing is said", "{type: node, count: 1}", undefined],
    ["cores without a node", "{type: core, count: 3}", { cpu: 3 }],
    [
      "sockets",
      "{type: node, count: 1, with: [{type: socket, count: 2, with: [{type: core, count: 4}, {type: gpu, count: 1}]}]}",
      { cpu: 8, gpu: 2 },
    ],
    [
      "anything that can be counted",
      "{type: node, count: 1, with: [{type: fpga, count: 2}, {type: memory, count: 1, unit: MB}]}",
      { fpga: 2, memory: 1_000_000 },
    ],
  ];
  for (const [name, resource, resources, array] of shapes) {
    test(name, () => {
      const [job] = jobs(one(resource));
      expect([job?.spec.resources, job?.spec.array]).toEqual([resources, array]);
    });
  }

  test("what a task requires is asked of nodes, else of what is topmost", () => {
    const requires = (resource: string) => {
      const text = one(resource, ", requires: {os: {name: linux}}");
      const count = (tree: ResourceRequest): unknown => [
        tree.type,
        tree.requires.length,
        ...tree.with.map(count),
      ];
      return parseJobspec(text).items[0]?.resources[0]?.map(count);
    };
    expect(
      requires(
        "{type: rack, count: 1, with: [{type: switch, count: 1}, {type: node, count: 1, with: [{type: core, count: 1}]}]}",
      ),
    ).toEqual([["rack", 0, ["switch", 0], ["node", 1, ["core", 0]]]]);
    expect(
      requires("{type: slot, count: 1, with: [{type: core, count: 1}, {type: gpu, count: 1}]}"),
    ).toEqual([["slot", 0, ["core", 1], ["gpu", 1]]]);
  });

  test("a type may be called like what every object has", () => {
    const { resources } = parseJobspec(
      one("{type: node, count: 1, with: [{type: constructor, count: 2}, {type: core, count: 1}]}"),
    );
    const shape = shapeOf([...resources.values()].map(({ request }) => request));
    expect(shape.perSlot.others).toEqual({ constructor: 2 });
  });

  test("replicas, slots and processes multiply; processes share what a slot has", () => {
    const slots = "{type: slot, count: 2, with: [{type: core, count: 3}, {type: gpu, count: 2}]}";
    expect(jobs(one(slots, ", replicas: 5"))[0]?.spec).toMatchObject({
      array: "0-9",
      resources: { cpu: 3, gpu: 2 },
    });
    expect(jobs(one(slots, ", count: {per_slot: 2}"))[0]?.spec).toMatchObject({
      array: "0-3",
      resources: { cpu: 1.5, gpu: 1 },
    });
    expect(jobs(one(slots, ", count: {total: 7}"))[0]?.spec).toMatchObject({
      array: "0-6",
      resources: { cpu: 3, gpu: 2 },
    });
  });

  const refused: readonly (readonly [string, string])[] = [
    [
      one("{type: node, count: 2}"),
      "t: wants 2 nodes together, and a task of Busbar runs on one node",
    ],
    [
      one("{type: rack, replicas: 4, with: [{type: node, count: 2}]}"),
      "t: wants 2 nodes together, and a task of Busbar runs on one node",
    ],
    [
      one("{type: node, count: 1}").replace("resources: r}", "resources: r&r}"),
      "t: wants 2 nodes together, and a task of Busbar runs on one node",
    ],
    [
      one("{type: node, count: 1, exclusive: true}"),
      "t: wants a node for itself (exclusive), which Busbar cannot promise",
    ],
    [one("{type: memory, count: 4}"), "t: asks for memory without a unit that is known, like GiB"],
    [
      one("{type: gpu, count: 3}", ", count: {per_slot: 2}"),
      "t: 3 gpu of a slot cannot be shared by its 2 processes",
    ],
    [
      one("{type: core, count: 1}", ", attributes: {cwd: here}"),
      "t: cwd: must be an absolute path, like /tmp",
    ],
    [one("{type: core, count: 1}", ", replicas: 2000000"), "t: array: at most 1000000 tasks"],
    [
      one(
        "{type: core, count: 1}",
        ", steps: [{name: set, key: sharedfs, value: false}, {name: stage, path: /x}]",
      ),
      "t: cannot stage /x: nothing copies files to the nodes",
    ],
  ];
  for (const [text, want] of refused) {
    test(want, () => expect(() => jobs(text)).toThrow(want));
  }

  test("of alternatives the first that runs on one node is taken", () => {
    const text = `version: 1
resources: {wide: {type: node, count: 2}, one: {type: node, count: 1, with: [{type: core, count: 6}]}}
tasks: [{command: [x], resources: wide|one}]`;
    const [job] = jobs(text);
    expect(job?.spec.resources).toEqual({ cpu: 6 });
    expect(job?.resources).toHaveLength(2);
  });
});

describe("groups taken apart", () => {
  /** Who waits for whom, with everything that follows from it. */
  const closure = (text: string): ReadonlyMap<string, ReadonlySet<string>> => {
    const all = new Map<string, Set<string>>();
    for (const { task, dependsOn } of flattenTasks(parseJobspec(text))) {
      const before = new Set(dependsOn.flatMap((path) => [path, ...(all.get(path) ?? [])]));
      expect([...dependsOn].every((path) => all.has(path))).toBe(true); // in order
      all.set(task.path, before);
    }
    return all;
  };

  test("nested groups wait as wholes and are waited for as wholes", () => {
    const after = closure(`version: 1
resources: {r: {type: node, count: 1}}
tasks:
- {name: last, command: [x], resources: r, depends_on: [g]}
- {name: first, command: [x], resources: r}
groups:
- name: g
  resources: r
  depends_on: [first]
  tasks:
  - {name: a, command: [x]}
  - {name: b, command: [x], depends_on: [a]}
  - {group: h, depends_on: [a]}
- name: h
  tasks: [{name: c, command: [x]}, {name: d, command: [x], depends_on: [c]}]`);
    const sets = Object.fromEntries([...after].map(([path, before]) => [path, [...before].sort()]));
    expect(sets).toEqual({
      first: [],
      "g/a": ["first"],
      "g/b": ["first", "g/a"],
      "g/h/c": ["first", "g/a"],
      "g/h/d": ["first", "g/a", "g/h/c"],
      last: ["first", "g/a", "g/b", "g/h/c", "g/h/d"],
    });
  });

  test("only the first of a group say what the group waits for", () => {
    const flat = flattenTasks(
      parseJobspec(`version: 1
resources: {r: {type: node, count: 1}}
tasks: [{name: x, command: [x], resources: r}]
groups: [{name: g, resources: r, depends_on: [x], tasks: [{name: a, command: [x]}, {name: b, command: [x], depends_on: [a]}]}]`),
    );
    expect(flat.map(({ task, dependsOn }) => [task.path, dependsOn])).toEqual([
      ["x", []],
      ["g/a", ["x"]],
      ["g/b", ["g/a"]],
    ]);
  });

  test("ten thousand links are fine, a million are refused", () => {
    const text = (size: number) => `version: 1
resources: {r: {type: node, count: 1}}
groups:
- {name: g, resources: r, tasks: [${"{command: [x]},".repeat(size)}]}
- {name: h, resources: r, depends_on: [g], tasks: [${"{command: [x]},".repeat(size)}]}`;
    expect(flattenTasks(parseJobspec(text(100))).at(-1)?.dependsOn).toHaveLength(100);
    expect(() => flattenTasks(parseJobspec(text(1_000)))).toThrow(/more than 100000 dependencies/);
  });
});

/** What every conversion may do with a valid jobspec: work, or refuse with an AppError. */
function convertAll(jobspec: Jobspec): void {
  const attempts: readonly (() => unknown)[] = [
    () => toNextgen(jobspec),
    () => toFluxV1(jobspec),
    () => toBusbarJobs(jobspec).jobs.forEach(({ spec }) => toJobSpec(spec)),
    () => toSteps(jobspec),
    ...planTargets.map((target) => () => toScript(plan(jobspec, target))),
  ];
  for (const attempt of attempts) {
    try {
      attempt();
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
    }
  }
}

describe("whatever is sent", () => {
  const sources = DIALECTS.map(([, text]) => text);
  const anything = fc.oneof(
    fc.constantFrom<unknown>(
      "",
      "a|b",
      "a&",
      "n",
      0,
      1,
      -1,
      1.5,
      1e300,
      true,
      null,
      [],
      {},
      [[]],
      "g",
    ),
    fc.constantFrom<unknown>("__proto__", "constructor", "train", "pool", "#!", "'", "300s"),
    fc.jsonValue({ maxDepth: 2 }),
  );

  /** One value somewhere replaced, removed, or under another key. */
  function mutate(value: unknown, at: number, by: unknown, how: number): unknown {
    const places: (() => void)[] = [];
    const copy = structuredClone(value);
    const visit = (each: unknown): void => {
      if (typeof each !== "object" || each === null) return;
      const map = each as Record<string, unknown>;
      for (const key of Object.keys(map)) {
        places.push(() => {
          if (how === 0) map[key] = by;
          else if (how === 1) delete map[key];
          else if (how === 2) map[typeof by === "string" ? by : `${key}s`] = map[key];
          else map[key] = [map[key], map[key]];
        });
        visit(map[key]);
      }
    };
    visit(copy);
    places[at % Math.max(1, places.length)]?.();
    return copy;
  }

  test("a changed document is a jobspec or has problems with a place; nothing else is thrown", () => {
    const change = fc.record({ at: fc.nat(500), by: anything, how: fc.nat(3) });
    fc.assert(
      fc.property(
        fc.constantFrom(...sources),
        fc.array(change, { minLength: 1, maxLength: 4 }),
        (text, changes) => {
          let value: unknown = parseYaml(text);
          for (const { at, by, how } of changes) value = mutate(value, at, by, how);
          const checked = checkJobspec(JSON.stringify(value) ?? "");
          if (checked.kind === "valid") convertAll(checked.jobspec);
          else {
            expect(checked.problems.length).toBeGreaterThan(0);
            for (const { at } of checked.problems) expect(at.line).toBeGreaterThan(0);
          }
        },
      ),
      { numRuns: 600 },
    );
  });

  test("a text with pieces cut out or put in", () => {
    const piece = fc.constantFrom(
      "",
      " ",
      "\n",
      "-",
      ":",
      "[",
      "{",
      "'",
      "|",
      "&a ",
      "*a",
      "#",
      "\t",
      "? ",
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...sources),
        fc.nat(1_500),
        fc.nat(8),
        piece,
        (text, at, length, put) => {
          const checked = checkJobspec(text.slice(0, at) + put + text.slice(at + length));
          if (checked.kind === "valid") convertAll(checked.jobspec);
        },
      ),
      { numRuns: 400 },
    );
  });

  test("documents that mean harm end quickly", () => {
    const head = "version: 1\nresources: {r: {type: node, count: 1}}\n";
    const chain = Array.from(
      { length: 100 },
      (_, at) => `- {name: g${at}, resources: r, tasks: [{group: g${at + 1}}]}\n`,
    ).join("");
    const cases: readonly (readonly [string, RegExp])[] = [
      [
        `${head}tasks:\n${"- {command: [x], resources: r}\n".repeat(5_001)}`,
        /has 5001 tasks and groups; at most 5000/,
      ],
      [
        `${head}groups:\n${chain}- {name: g100, tasks: [{command: [x]}]}`,
        /groups are nested more than 32 deep/,
      ],
      [`${head}tasks: [{command: [x], resources: "${"r|".repeat(64)}r"}]`, /at most 64 names/],
      [
        `${head}requires: {s: [{name: a, field: b}]}\ntasks: [{command: [x], resources: ${"r|".repeat(9)}r, requires: ${"s|".repeat(9)}s}]`,
        /100 alternatives of resources and requirements; at most 64/,
      ],
      [
        `version: 1\nresources: {r: {type: node, count: 1, with: [${"{type: core, count: 1},".repeat(10_000)}]}}\ntasks:\n${'- {command: [x], resources: "r|r|r"}\n'.repeat(2_000)}`,
        /tasks\[33\]: with it the tasks ask for more than 1000000 resources and requirements/,
      ],
      [
        `${head}requires: {s: [${"{name: a, field: b},".repeat(10_000)}]}\ntasks:\n${"- {command: [x], resources: r, requires: s|s}\n".repeat(2_000)}`,
        /tasks\[49\]: with it the tasks ask for more than 1000000 resources and requirements/,
      ],
      [
        `${head}requires: {s: [{name: a, field: b}]}\ngroups:\n${Array.from(
          { length: 30 },
          (_, at) =>
            `- {name: g${at}, resources: r, requires: ${"s|".repeat(9)}s, tasks: [{group: g${at + 1}}]}\n`,
        ).join("")}- {name: g30, tasks: [{command: [x]}]}`,
        /groups\[1\]: 100 alternatives of resources and requirements; at most 64/,
      ],
      [
        `version: 1\nresources: {${Array.from({ length: 4_000 }, (_, at) => `${"n".repeat(100)}${at}: {type: core, count: 1}`).join(", ")}}\ntasks:\n${`- {command: [x], resources: ${"m".repeat(60)}}\n`.repeat(4_000)}`,
        /and 3980 more$/,
      ],
      [`${head}tasks: ${"[".repeat(100_000)}`, /is nested more than 64 deep/],
      [`a: ${"x".repeat(2_100_000)}`, /characters; at most 2097152/],
      [
        `version: 1\nresources: {r: &a {type: node, count: 1, with: [*a]}}\ntasks: [{command: [x], resources: r}]`,
        /nested more than 64 deep/,
      ],
    ];
    for (const [text, want] of cases) expect(() => parseJobspec(text)).toThrow(want);
  });

  test("thousands that wait in a row", () => {
    const tasks = Array.from(
      { length: 4_000 },
      (_, at) =>
        `- {name: t${at}, command: [x], local: true, depends_on: [${at > 0 ? `t${at - 1}` : ""}]}`,
    );
    const jobspec = parseJobspec(`version: 1\ntasks:\n${tasks.toReversed().join("\n")}`);
    expect(flattenTasks(jobspec).map(({ task }) => task.name)).toEqual(
      tasks.map((_, at) => `t${at}`),
    );
  });
});
