import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AppError } from "../../lib/errors.ts";
import { parseAssignment, parseExpression, type ExpressionValue } from "./expression.ts";

const variables: Readonly<Record<string, ExpressionValue>> = {
  nodes_free: 20,
  "nodes-free": 7,
  cost: 3,
  name: "east",
  isOpen: true,
  "a.b": 5,
};
const evaluate = (text: string) =>
  parseExpression(text, "x").evaluate((name) =>
    Object.hasOwn(variables, name) ? variables[name] : undefined,
  );

describe("expressions", () => {
  const values: readonly [string, ExpressionValue][] = [
    ["1 + 2 * 3", 7],
    ["(1 + 2) * 3", 9],
    ["10 - 4 - 3", 3],
    ["100 / 10 / 2", 5],
    ["7 % 4", 3],
    ["-2 * -3", 6],
    ["- (1 + 1)", -2],
    ["2 - -2", 4],
    [".5 + 1.5e1", 15.5],
    ["nodes_free > 0", true],
    ["[nodes-free] + 1", 8],
    ["[ nodes-free ] == 7", true],
    ["a.b", 5],
    ["name == 'east'", true],
    ['name != "west"', true],
    ["name < 'f'", true],
    [String.raw`"a\"b" == 'a"b'`, true],
    ["true and not false", true],
    ["true && !false || false", true],
    ["not 1 == 2", true],
    ["!isOpen or cost <= 3", true],
    ["1 < 2 and 2 < 3", true],
    ["1 == 1 or 1 / 0 == 0", true],
    ["false and nonsense", false],
    ["min(3, 1, 2)", 1],
    ["max(cost, min(100, nodes_free - 10))", 10],
    ["min(5)", 5],
    ["cost * (nodes_free * 0.4)/60/60", (3 * (20 * 0.4)) / 60 / 60],
    ["1 >= 1", true],
    ["1 != 1", false],
    ["android", NaN],
  ];
  for (const [text, expected] of values) {
    test(`${text} is ${String(expected)}`, () => {
      const outcome = evaluate(text);
      if (Number.isNaN(expected))
        expect(outcome).toEqual({ ok: false, problem: `${text} is not known` });
      else expect(outcome).toEqual({ ok: true, value: expected });
    });
  }

  const problems: readonly [string, RegExp][] = [
    ["missing > 0", /^missing is not known$/],
    ["[toString] > 0", /toString is not known/],
    ["1 / 0", /1 \/ 0 is not a number/],
    ["5 % 0", /not a number/],
    ["name + 1", /\+ needs numbers, not "east"/],
    ["name > 1", /cannot be compared/],
    ["1 == true", /cannot be compared/],
    ["1 and true", /and needs true or false, not 1/],
    ["not name", /needs true or false/],
    ["-name", /needs numbers/],
    ["min(name)", /min needs numbers/],
  ];
  for (const [text, problem] of problems) {
    test(`${text}: has no value`, () => {
      const outcome = evaluate(text);
      expect(outcome.ok ? outcome.value : outcome.problem).toMatch(problem);
    });
  }

  const mistakes: readonly [string, string][] = [
    ["", "is empty"],
    ["   ", "is empty"],
    ["1 +", "position 4: something is missing at the end"],
    ["* 2", "position 1: a value is missing before *"],
    ["(1 + 2", "position 7: a ) is missing"],
    ["1 2", "position 3: the expression should end here"],
    ["1 + 2)", "position 6: the expression should end here"],
    ["a = 1", "position 3: the expression should end here"],
    ["a # b", 'position 3: "#" is not understood'],
    ["'open", `position 1: "'" is not understood`],
    ["[open", 'position 1: "[" is not understood'],
    ["1 < 2 < 3", "position 7: comparisons cannot follow each other; write a < b and b < c"],
    ["eval(1)", "position 1: there is no function eval; there are min and max"],
    ["min()", "position 5: a value is missing before )"],
    ["min(1,", "position 7: something is missing at the end"],
    ["a ** b", "position 4: a value is missing before *"],
    ["x.constructor('y')", "position 1: there is no function x.constructor; there are min and max"],
    ["(".repeat(100), "position 51: is nested more than 50 deep"],
    ["1".repeat(2_000), "at most 1000 characters"],
  ];
  for (const [text, message] of mistakes) {
    test(`${text.slice(0, 20)}: is refused with its position`, () => {
      expect(() => parseExpression(text, "step")).toThrow(
        expect.objectContaining({ field: "step", message: `step: ${message}` }),
      );
    });
  }

  test("assignments name the variable, and may compare", () => {
    const { name, expression } = parseAssignment("[build-cost] = cost == 3", "x");
    expect(name).toBe("build-cost");
    expect(expression.evaluate((key) => variables[key])).toEqual({ ok: true, value: true });
    expect(() => parseAssignment("1 = 2", "x")).toThrow(/position 1: must begin with a name/);
    expect(() => parseAssignment("a + 1", "x")).toThrow(/after a there must be =/);
    expect(() => parseAssignment("a =", "x")).toThrow(/something is missing/);
  });

  /** Products first, then sums from left to right; with parentheses and signs. */
  const anySum = fc.letrec<{ sum: { text: string; value: number } }>((tie) => ({
    sum: fc
      .array(
        fc.tuple(
          fc.constantFrom("+", "-", "*"),
          fc.oneof(
            { maxDepth: 3 },
            fc.integer({ min: 0, max: 99 }).map((value) => ({ text: String(value), value })),
            tie("sum").map(({ text, value }) => ({ text: `(${text})`, value })),
            tie("sum").map(({ text, value }) => ({ text: `-(${text})`, value: -value })),
          ),
        ),
        { minLength: 1, maxLength: 4 },
      )
      .map((parts) => {
        const products: number[] = [];
        parts.forEach(([operator, { value }], at) => {
          if (operator === "*" && at > 0) products.push((products.pop() ?? 1) * value);
          else products.push(operator === "-" && at > 0 ? -value : value);
        });
        return {
          text: parts.map(([operator, { text }], at) => (at > 0 ? operator : "") + text).join(" "),
          value: products.reduce((sum, each) => sum + each, 0),
        };
      }),
  })).sum;

  test("sums have the expected value", () => {
    fc.assert(
      fc.property(anySum, ({ text, value }) => {
        fc.pre(text.length < 900);
        const outcome = evaluate(text);
        expect(outcome.ok && Number(outcome.value)).toBeCloseTo(value, 6);
      }),
    );
  });

  test("any text is rejected as invalid or evaluated; no other error", () => {
    const piece = fc.constantFrom(
      ..."( ) + - * / % < > <= >= == != = ! && || and or not min max , 1 2.5 'x' a [b-c] true".split(
        " ",
      ),
    );
    const text = fc.oneof(
      fc.string(),
      fc.array(piece, { maxLength: 20 }).map((all) => all.join(" ")),
    );
    fc.assert(
      fc.property(text, (source) => {
        try {
          parseExpression(source, "x").evaluate(() => 1);
        } catch (error) {
          expect(error).toBeInstanceOf(AppError);
          expect((error as AppError).code).toBe("invalid_argument");
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
