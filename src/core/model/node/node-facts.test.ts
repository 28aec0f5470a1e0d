import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { checkNodeFacts, factsOfCapacity, offeredFacts, parseNodeFacts } from "./node-facts.ts";

const facts = {
  cores: 8,
  sockets: 2,
  numa: 2,
  memoryBytes: 16e9,
  gpus: 1,
  others: { license: 3 },
  software: {
    os: [{ name: "debian", version: "12" }],
    cpu: [{ vendor: "GenuineIntel", family: 6, smt: true }, { feature: "avx2" }],
    gpu: [{ name: "A100", size: 1, unit: "" }],
  },
};

const fieldOf = (run: () => unknown): string | undefined => {
  try {
    run();
  } catch (error) {
    if (error instanceof AppError) return error.field;
    throw error;
  }
  return "accepted";
};
const withEntry = (entry: unknown) => ({ ...facts, software: { os: [entry] } });
const many = (count: number) => Array.from({ length: count }, (_, at) => ({ name: `p${at}` }));

describe("facts of a machine", () => {
  test("round trip; unknown fields are dropped, missing ones are empty", () => {
    expect(checkNodeFacts({ ...facts, colour: "red" }, "facts")).toEqual(facts);
    expect(parseNodeFacts(JSON.stringify(facts), "facts")).toEqual(facts);
    expect(checkNodeFacts({}, "facts")).toEqual(factsOfCapacity({}));
    expect(checkNodeFacts({ cores: -0, others: { license: -0 } }, "facts")).toMatchObject({
      cores: 0,
      others: { license: 0 },
    });
  });

  const wrong: readonly [string, unknown, string][] = [
    ["no object", [], "facts"],
    ["half a core", { ...facts, cores: 1.5 }, "facts.cores"],
    ["less than nothing", { ...facts, gpus: -1 }, "facts.gpus"],
    ["a text for a number", { ...facts, memoryBytes: "16" }, "facts.memoryBytes"],
    ["more sockets than machines have", { ...facts, sockets: 2_000 }, "facts.sockets"],
    ["a resource that is called as another", { ...facts, others: { core: 1 } }, "facts.others"],
    ["a resource that all objects have", { ...facts, others: { constructor: 1 } }, "facts.others"],
    ["half a license", { ...facts, others: { license: 0.5 } }, "facts.others.license"],
    ["a list of subsystems", { ...facts, software: [] }, "facts.software"],
    ["a subsystem called cluster", { ...facts, software: { cluster: [] } }, "facts.software"],
    ["a subsystem that is a path", { ...facts, software: { "../os": [] } }, "facts.software"],
    ["a subsystem that is no list", { ...facts, software: { os: {} } }, "facts.software.os"],
    ["an empty entry", withEntry({}), "facts.software.os[0]"],
    ["nested entries", withEntry({ name: { first: "a" } }), "facts.software.os[0].name"],
    ["null", withEntry({ name: null }), "facts.software.os[0].name"],
    ["no number", withEntry({ name: Number.NaN }), "facts.software.os[0].name"],
    ["a long text", withEntry({ name: "x".repeat(513) }), "facts.software.os[0].name"],
    ["an empty type", withEntry({ type: "" }), "facts.software.os[0].type"],
    ["a type that is a number", withEntry({ type: 4 }), "facts.software.os[0].type"],
    ["a size that is a text", withEntry({ size: "4" }), "facts.software.os[0].size"],
    ["a field without a name", withEntry({ "": "a" }), "facts.software.os[0]"],
    [
      "too many fields",
      withEntry(Object.fromEntries(many(33).map(({ name }) => [name, 1]))),
      "facts.software.os[0]",
    ],
    [
      "too many entries in all",
      { ...facts, software: { spack: many(3_000), os: many(2_001) } },
      "facts.software",
    ],
    [
      "too many subsystems",
      { ...facts, software: Object.fromEntries(many(65).map(({ name }) => [name, []])) },
      "facts.software",
    ],
  ];
  for (const [name, input, field] of wrong) {
    test(`refused: ${name}`, () => {
      expect(fieldOf(() => checkNodeFacts(input, "facts"))).toBe(field);
    });
  }

  test("text that is not JSON, or too long, is rejected before it is parsed", () => {
    expect(fieldOf(() => parseNodeFacts("{", "facts"))).toBe("facts");
    const long = JSON.stringify(facts) + " ".repeat(limits.factsCharsMax);
    expect(fieldOf(() => parseNodeFacts(long, "facts"))).toBe("facts");
  });

  test("any input is accepted or rejected by name; accepted input stays valid", () => {
    const sent = fc.record(
      { cores: fc.jsonValue(), others: fc.jsonValue(), software: fc.jsonValue() },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(sent, (input) => {
        if (fieldOf(() => checkNodeFacts(input, "facts")) !== "accepted") return;
        const checked = checkNodeFacts(input, "facts");
        expect(parseNodeFacts(JSON.stringify(checked), "facts")).toEqual(checked);
      }),
    );
  });
});

describe("the offered capacity", () => {
  test("counts, whatever the machine has", () => {
    const capacity = { cpu: 3_500, memory: 4e9, gpu: 2, power: 300, core: 9 };
    expect(offeredFacts(facts, capacity)).toEqual({
      ...facts,
      cores: 3,
      memoryBytes: 4e9,
      gpus: 2,
      others: { power: 300 },
    });
  });

  test("one core is in one socket, half a core in none", () => {
    expect(offeredFacts(facts, { cpu: 1_000 })).toMatchObject({ cores: 1, sockets: 1, numa: 1 });
    expect(offeredFacts(facts, { cpu: 500 })).toMatchObject({ cores: 0, sockets: 0, numa: 0 });
  });
});
