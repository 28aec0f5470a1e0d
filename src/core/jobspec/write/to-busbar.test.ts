import { describe, expect, test } from "vitest";
import type { ResourceRequest } from "../../graph/request/request.ts";
import { parseJobspec } from "../read/parse.ts";
import { shapeOf } from "../shape.ts";
import { NEXTGEN } from "../testing/documents.ts";
import { toBusbarJobs } from "./to-busbar.ts";

describe("conversion to jobs of Busbar", () => {
  const jobs = (text: string) => toBusbarJobs(parseJobspec(text)).jobs;

  test("groups become their tasks, which inherit and depend on each other", () => {
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
        name: "train/score/score-task-0",
        spec: {
          name: "train/score/score-task-0",
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
          dependsOn: [{ on: ["train/prepare", "train/fit", "train/score/score-task-0"] }],
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

  test("requirements of a task apply to nodes, else to the topmost vertices", () => {
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

  test("a type may be named like a property of Object.prototype", () => {
    const { resources } = parseJobspec(
      one("{type: node, count: 1, with: [{type: constructor, count: 2}, {type: core, count: 1}]}"),
    );
    const shape = shapeOf([...resources.values()].map(({ request }) => request));
    expect(shape.perSlot.others).toEqual({ constructor: 2 });
  });

  test("replicas, slots and processes multiply; processes divide the resources of a slot", () => {
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
      "t: requests 2 nodes together, and a task of Busbar runs on one node",
    ],
    [
      one("{type: rack, replicas: 4, with: [{type: node, count: 2}]}"),
      "t: requests 2 nodes together, and a task of Busbar runs on one node",
    ],
    [
      one("{type: node, count: 1}").replace("resources: r}", "resources: r&r}"),
      "t: requests 2 nodes together, and a task of Busbar runs on one node",
    ],
    [
      one("{type: node, count: 1, exclusive: true}"),
      "t: requests a whole node (exclusive), which Busbar cannot guarantee",
    ],
    [one("{type: memory, count: 4}"), "t: requests memory without a known unit, like GiB"],
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

  test("the first alternative that runs on one node is chosen", () => {
    const text = `version: 1
resources: {wide: {type: node, count: 2}, one: {type: node, count: 1, with: [{type: core, count: 6}]}}
tasks: [{command: [x], resources: wide|one}]`;
    const [job] = jobs(text);
    expect(job?.spec.resources).toEqual({ cpu: 6 });
    expect(job?.resources).toHaveLength(2);
  });
});
