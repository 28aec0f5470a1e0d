import { expect, test } from "vitest";
import { onOneNode } from "../submit/request-flags.ts";
import { requirement } from "../submit/requirement.ts";
import { displayWidth } from "./page.ts";
import { requestText } from "./request.ts";

const requires = requirement("--require")("spack:name=ior,version>=3.3");
const core = { type: "core", count: 2 };
const slot = (count: number, ...inside: unknown[]) => ({
  type: "slot",
  count,
  isSlot: true,
  with: inside,
});

const cases: readonly [string, unknown][] = [
  ["", undefined],
  ["1 node", [[{ type: "node" }]]],
  ["1 node with 2 cores, spack name=ior, version >= 3.3", onOneNode(requires, { cpu: 2 })],
  [
    "1 node with 0.5 cores and 4GiB memory and 1 gpu, spack name=ior, version >= 3.3",
    onOneNode(requires, { cpu: 0.5, memory: 4 * 1_024 ** 3, gpu: 1 }),
  ],
  [
    "2 racks with 1 node alone with 2 cores",
    [[{ type: "rack", count: 2, with: [{ type: "node", isExclusive: true, with: [core] }] }]],
  ],
  [
    "3 slots of 2 cores and 4GiB memory",
    [[slot(3, core, { type: "memory", count: 4, unit: "GiB" })]],
  ],
  ["1 slot of 2 cores", [[slot(1, core)]]],
  [
    "1 node with 2 cores, spack name=ior, version >= 3.3",
    [[{ type: "node", with: [{ ...slot(1, core), requires }] }]],
  ],
  ["1 slot main of 2 cores", [[{ ...slot(1, core), label: "main" }]]],
  [
    "1 node, and 2 gpus; or 4 nodes",
    [[{ type: "node" }, { type: "gpu", count: 2 }], [{ type: "node", count: 4 }]],
  ],
  [
    "64 memory, and 2 gres",
    [
      [
        { type: "memory", count: 64 },
        { type: "gres", count: 2 },
      ],
    ],
  ],
  ['[[{"colour":"red"}]]', [[{ colour: "red" }]]],
  ['"node 4"', "node 4"],
];
for (const [text, request] of cases) {
  test(text === "" ? "nothing" : text, () => expect(requestText(request)).toBe(text));
}

test("long ones are truncated, in words or not", () => {
  const many = Array.from({ length: 60 }, (_, at) => ({ type: `thing${at}` }));
  for (const request of [[many], { many }]) {
    expect(displayWidth(requestText(request))).toBe(200);
    expect(requestText(request)).toMatch(/…$/);
  }
});
