import { describe, expect, test } from "vitest";
import { requestedParts, parametersOf } from "./requested-parts.ts";
import { parseJobspec } from "./read/parse.ts";

const names = (text: string): unknown =>
  requestedParts(parseJobspec(text)).map(({ name, resources }) => [
    name,
    resources.map((trees) => trees.map(({ type, count }) => `${count} ${type}`)),
  ]);

const DOCUMENT = `
version: 1
resources:
  all: { type: node, count: 4 MARK }
  one: { type: node, count: 1 }
tasks:
  - { name: alone, command: [a], resources: one }
  - { name: here, command: [b], local: true }
groups:
  - name: train
    resources: all
    tasks:
      - { name: fit, command: [c], resources: one }
      - { name: score, command: [d] }
      - { name: note, command: [e], local: true }
`;

describe("the parts that a jobspec requests of a cluster", () => {
  test("are all tasks that are not local", () => {
    expect(names(DOCUMENT.replace("MARK", ""))).toEqual([
      ["alone", [["1 node"]]],
      ["train/fit", [["1 node"]]],
      ["train/score", [["4 node"]]],
    ]);
  });

  test("are the items that name a scheduled resource, if one is marked", () => {
    const marked = DOCUMENT.replace("MARK", ", schedule: true");
    expect(names(marked)).toEqual([["train", [["4 node"]]]]);
  });

  test("are the marked resources, when no item names them", () => {
    const text = DOCUMENT.replace("MARK", "").replace(
      "\ntasks:",
      "\n  spare: { type: gpu, count: 2, schedule: true }\ntasks:",
    );
    expect(names(text)).toEqual([["spare", [["2 gpu"]]]]);
  });

  test("are none when all tasks are local", () => {
    expect(names("version: 1\nresources: {}\ntasks: [{ command: [a], local: true }]")).toEqual([]);
  });
});

describe("parameters", () => {
  const spec = (document: string, ...tasks: string[]): string => `
version: 1
resources: { one: { type: node, count: 1 } }
attributes: { parameter: ${document} }
tasks: [${tasks.map((each) => `{ command: [a], resources: one, attributes: ${each} }`).join(", ")}]
`;
  const read = (text: string): unknown => parametersOf(parseJobspec(text));

  test("come from the document", () => {
    expect(read(spec("{ a: 1 }", "{ }", "{ parameter: { a: 2 } }"))).toEqual({ a: 1 });
  });

  test("or from its only task, whose values win", () => {
    expect(read(spec("{ a: 1 }", "{ }"))).toEqual({ a: 1 });
    expect(read(spec("{ a: 1 }", "{ parameter: { a: 2 } }"))).toEqual({ a: 2 });
  });

  test("or are empty", () => {
    expect(read("version: 1\nresources: {}\ntasks: [{ command: [a], local: true }]")).toEqual({});
  });
});
