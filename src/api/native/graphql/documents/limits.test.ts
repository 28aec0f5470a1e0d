import { getIntrospectionQuery } from "graphql";
import { describe, expect, test } from "vitest";
import { AppError } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import { createSchema } from "../schema.ts";
import { measure, type Measured } from "./measure.ts";
import { operationOf, readDocument } from "./read-document.ts";

const schema = createSchema();

function measured(text: string, variables: Readonly<Record<string, unknown>> = {}): Measured {
  const document = readDocument(schema, text);
  const operation = operationOf(document, undefined);
  return measure(schema, { document, operation, variables });
}

function refusal(text: string): string {
  try {
    measured(text);
  } catch (error) {
    return error instanceof AppError ? `${error.code}: ${error.message}` : String(error);
  }
  return "none";
}

const times = (count: number, text: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => text(at)).join(" ");

describe("the cost of a request", () => {
  test("a field costs 1, a call more, and a page multiplies the cost of its rows", () => {
    const one = measured("{ jobs(pageSize: 1) { jobs { id } } }").cost;
    expect(measured("{ jobs(pageSize: 11) { jobs { id } } }").cost).toBe(one + 10);
    expect(measured("{ jobs(pageSize: 11) { jobs { id state } } }").cost).toBe(one + 21);
    expect(measured("{ jobs { jobs { id } } }").cost).toBe(one + limits.pageSizeDefault - 1);
    expect(measured("{ clusters { clusters { name } } }").cost).toBeGreaterThan(
      limits.graphqlRowsSize,
    );
  });

  test("a page size in a variable counts, set or by default", () => {
    const text = "query($n: Int = 7) { jobs(pageSize: $n) { jobs { id } } }";
    const one = measured("{ jobs(pageSize: 1) { jobs { id } } }").cost;
    expect(measured(text).cost).toBe(one + 6);
    expect(measured(text, { n: 50 }).cost).toBe(one + 49);
  });

  test("aliases and fragments cost as much as the fields that they show", () => {
    const one = measured("{ stats { version } }").cost;
    expect(measured(`{ ${times(9, (at) => `a${at}: stats { version }`)} }`).cost).toBe(9 * one);
    const fragment = "fragment S on Query { stats { version } }";
    expect(measured(`{ ...S ...S } ${fragment}`).cost).toBe(one);
    expect(
      measured(`{ a: stats { ...V } b: stats { ...V } } fragment V on Stats { version }`).cost,
    ).toBe(2 * one);
  });

  test("the usual introspection query is well within the limit", () => {
    const { introspectionCost, cost } = measured(getIntrospectionQuery());
    expect(cost).toBe(0);
    expect(introspectionCost).toBeLessThan(limits.graphqlIntrospectionCostMax / 2);
    expect(introspectionCost).toBeGreaterThan(limits.graphqlIntrospectionCostMax / 10);
  });
});

describe("rejected before anything runs", () => {
  const chain = (depth: number): string =>
    times(
      depth,
      (at) => `fragment F${at} on Task { job { taskList { tasks { ...F${at + 1} } } } }`,
    );
  const doubling = times(
    20,
    (at) =>
      `fragment F${at} on Job { a: taskList { tasks { job { ...F${at + 1} } } } b: taskList { tasks { job { ...F${at + 1} } } } }`,
  );
  test.each([
    ["a document that is too long", `{ stats { version } } #${"x".repeat(70_000)}`, /characters/],
    ["too many words", `{ ${times(2_000, (at) => `a${at}: stats { version }`)} }`, /tokens/],
    ["brackets without end", "{a".repeat(1_000), /brackets/],
    ["lists without end", `{ satisfy(request: ${"[".repeat(1_000)}) { now } }`, /brackets/],
    ["too many operations", times(21, (at) => `query q${at} { stats { version } }`), /operations/],
    [
      "nested too deep",
      `{ job(id: "1") { ${"taskList { tasks { job { ".repeat(6)} id ${"} } }".repeat(6)} } }`,
      /deep/,
    ],
    [
      "nested too deep in fragments",
      `{ task(id: "1") { ...F0 } } ${chain(9)} fragment F9 on Task { id }`,
      /deep/,
    ],
    [
      "fragments that double",
      `{ job(id: "1") { ...F0 } } ${doubling} fragment F20 on Job { id }`,
      /deep|fields/,
    ],
    [
      "calls for each row",
      "{ jobs(pageSize: 1000) { jobs { explanation { summary } } } }",
      /costs/,
    ],
    [
      "many calls by aliases",
      `{ ${times(150, (at) => `a${at}: explainJob(id: "1") { summary }`)} }`,
      /costs/,
    ],
    [
      "pages of pages",
      "{ jobs { jobs { taskList { tasks { job { taskList { tasks { id } } } } } } } }",
      /costs/,
    ],
    [
      "the schema, many times",
      `{ ${times(100, (at) => `a${at}: __schema { types { fields { args { name description } } } }`)} }`,
      /costs/,
    ],
    [
      "much for each event",
      `subscription { watch { ${times(300, (at) => `a${at}: node { name cluster }`)} } }`,
      /costs/,
    ],
  ])("%s", (_, text, why) => {
    const told = refusal(text);
    expect(told).toMatch(/^exhausted: query: /);
    expect(told).toMatch(why);
  });

  test("the schema of the schema, nested too deep", () => {
    const text = `{ __schema { types { ${"fields { type { ".repeat(6)} name ${"} }".repeat(6)} } } }`;
    expect(() => measured(text)).toThrow();
  });

  test("events have no calls", () => {
    expect(refusal("subscription { jobChanged { explanation { summary } } }")).toBe(
      "invalid_argument: query: explanation is not part of events; read it with a query",
    );
  });

  test("one name in the answer for different fields", () => {
    expect(refusal('{ a: job(id: "1") { id } a: job(id: "2") { id } }')).toContain("conflict");
    expect(refusal('{ a: job(id: "1") { x: id } a: job(id: "1") { x: state } }')).toContain(
      "conflict",
    );
    expect(refusal('{ a: job(id: "1") { x: id } a: job(id: "1") { x: id state } }')).toBe("none");
    expect(
      refusal(
        "{ ...A ...B } fragment A on Query { s: stats { version } } fragment B on Query { s: groups { revision } }",
      ),
    ).toContain("conflict");
  });

  test("a document without an operation, or with several and no name", () => {
    expect(refusal("fragment F on Job { id }")).not.toBe("none");
    expect(refusal("query A { stats { version } } query B { stats { version } }")).toMatch(
      /^invalid_argument: operationName: name the operation to run in operationName: A, B/,
    );
  });
});
