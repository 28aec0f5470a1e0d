import { describe, expect, test } from "vitest";
import { AppError } from "../../../lib/errors.ts";
import { checkJobspec, parseJobspec } from "../read/parse.ts";
import { EXPERIMENTAL, FLUX_V1, NEXTGEN } from "../testing/documents.ts";
import { toFluxV1 } from "./to-flux-v1.ts";

describe("conversion to flux V1", () => {
  test("a document in flux V1 round trips", () => {
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
    [NEXTGEN, 'Flux V1 cannot express a group ("train")\nFlux V1 cannot express several tasks (3)'],
    [EXPERIMENTAL, "Flux V1 cannot express steps\nFlux V1 cannot express requirements (io, os)"],
    [one(node, ", replicas: 2"), "Flux V1 cannot express replicas (2)"],
    [one(node, ", local: true"), "Flux V1 cannot express a local task"],
    [
      one("{type: rack, replicas: 1, with: [{type: node, count: 2}]}"),
      "Flux V1 cannot express a slot of 2 nodes",
    ],
    [
      one(
        "{type: node, count: 1, with: [{type: memory, count: 1, unit: GB}, {type: fpga, count: 1}]}",
      ),
      'Flux V1 cannot express memory\nFlux V1 cannot express a resource of type "fpga"',
    ],
    [
      one(node).replace("resources: r}", "resources: r|r}"),
      "Flux V1 cannot express alternatives (2)",
    ],
    [
      one(node).replace("resources: r}", "resources: r&r}"),
      "Flux V1 cannot express several resources in one request",
    ],
  ];
  for (const [text, want] of refused) {
    test(want.replaceAll("\n", "; "), () => {
      expect(() => toFluxV1(parseJobspec(text))).toThrow(new AppError("invalid_argument", want));
    });
  }

  test("a script runs by the interpreter of its first line", () => {
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
