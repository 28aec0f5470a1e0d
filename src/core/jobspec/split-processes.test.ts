import { expect, test } from "vitest";
import type { ResourceChoice, ResourceRequest } from "../graph/request/request.ts";
import type { JobspecTask } from "./model.ts";
import { parseJobspec } from "./read/parse.ts";
import { perProcess } from "./split-processes.ts";

/** "node 1 > slot 1 > core 2, gpu 1"; alternatives by "|". */
const brief = (choice: ResourceChoice): string =>
  choice.map((trees) => trees.map(treeText).join(" + ")).join(" | ");
const treeText = ({ type, count, with: inside }: ResourceRequest): string =>
  `${type} ${count}${inside.length === 0 ? "" : ` > ${inside.map(treeText).join(", ")}`}`;

function split(resources: string, asked = "r"): string {
  const { items } = parseJobspec(
    `version: 1\nresources: ${resources}\ntasks: [{name: t, command: [x], resources: ${asked}}]`,
  );
  return splitTask(items[0] as JobspecTask);
}

function splitTask(task: JobspecTask): string {
  const { copies, request, form } = perProcess(task);
  return `${form}: ${copies} x ${brief(request)}`;
}

const CORES = "with: [{type: core, count: 4}, {type: gpu, count: 2}]";

test.each([
  [
    "a node is one process",
    `{r: {type: node, count: 1, ${CORES}}}`,
    "single: 1 x node 1 > core 4, gpu 2",
  ],
  [
    "replicas are apart, each with its own part",
    `{r: {type: node, replicas: 3, ${CORES}}}`,
    "split: 3 x node 1 > core 4, gpu 2",
  ],
  [
    "slots are apart, wherever they are asked for",
    `{r: {type: rack, count: 2, with: [{type: node, count: 3, with: [{type: slot, count: 2, ${CORES}}]}]}}`,
    "split: 12 x rack 1 > node 1 > slot 1 > core 4, gpu 2",
  ],
  [
    "nodes that are wanted together stay together",
    `{r: {type: node, count: 2, ${CORES}}}`,
    "together: 1 x node 2 > core 4, gpu 2",
  ],
])("%s", (_, resources, want) => {
  expect(split(resources)).toBe(want);
});

test("processes that share a slot get equal parts of it", () => {
  const text = `
version: 1
resources: [{type: slot, count: 2, label: s, with: [{type: core, count: 4}]}]
tasks: [{command: [x], slot: s, count: {per_slot: 2}}]
attributes: {system: {duration: 60}}`;
  expect(splitTask(parseJobspec(text).items[0] as JobspecTask)).toBe("split: 4 x slot 1 > core 2");
});

test("alternatives with equal numbers of processes are split alike, others stay whole", () => {
  const two = "{type: node, replicas: 2, with: [{type: core, count: 1}]}";
  const large = "{type: node, replicas: 2, with: [{type: core, count: 8}]}";
  const one = "{type: node, count: 1, with: [{type: core, count: 8}]}";
  const choice = (other: string): string => split(`{a: ${two}, b: ${other}}`, "a|b");
  expect(choice(large)).toBe("split: 2 x node 1 > core 1 | node 1 > core 8");
  expect(choice(one)).toBe("together: 1 x node 2 > core 1 | node 1 > core 8");
});
