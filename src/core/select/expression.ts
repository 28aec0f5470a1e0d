import { invalid } from "../../lib/errors.ts";
import { invariant } from "../../lib/invariant.ts";
import { limits } from "../../limits.ts";
import { type Operator, type Token, tokenize } from "./expression-tokens.ts";

export type ExpressionValue = number | string | boolean;
/** The value of a variable; undefined: it has none. */
export type Lookup = (name: string) => ExpressionValue | undefined;
export type ExpressionResult =
  | { readonly ok: true; readonly value: ExpressionValue }
  | { readonly ok: false; readonly problem: string };

/**
 * Small sums over the reported state of clusters. Parsed completely, with the position of any mistake,
 * before evaluation; never runs code.
 */
export interface Expression {
  readonly text: string;
  evaluate(lookup: Lookup): ExpressionResult;
}

type Compiled = (lookup: Lookup) => ExpressionValue;

/** An error that depends on values, in a valid expression. */
class Problem extends Error {}

export function parseExpression(text: string, field: string): Expression {
  return expressionOf(text, new Parser(text, field).parseAll());
}

/** "name = expression" or "[odd-name] = expression". */
export function parseAssignment(
  text: string,
  field: string,
): { readonly name: string; readonly expression: Expression } {
  const parser = new Parser(text, field);
  const name = parser.assignedName();
  return { name, expression: expressionOf(text, parser.parseAll()) };
}

/** The value of one variable. */
export const variable = (name: string): Expression => expressionOf(name, readVariable(name));

function expressionOf(text: string, compiled: Compiled): Expression {
  return {
    text,
    evaluate(lookup) {
      try {
        return { ok: true, value: compiled(lookup) };
      } catch (error) {
        if (error instanceof Problem) return { ok: false, problem: error.message };
        throw error;
      }
    },
  };
}

/** How tightly an operator binds; higher is tighter. */
const BINDING: Readonly<Record<string, number>> = {
  or: 1,
  and: 2,
  "==": 4,
  "!=": 4,
  "<": 4,
  "<=": 4,
  ">": 4,
  ">=": 4,
  "+": 5,
  "-": 5,
  "*": 6,
  "/": 6,
  "%": 6,
};
const NOT_BINDING = 3; // "not a == b" is "not (a == b)"
const SIGN_BINDING = 7;

class Parser {
  readonly #text: string;
  readonly #field: string;
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(text: string, field: string) {
    this.#text = text;
    this.#field = field;
    this.#tokens = tokenize(text, field);
  }

  parseAll(): Compiled {
    const whole = this.#parse(0);
    if (this.#peek() !== undefined) throw this.#wrong("the expression should end here");
    return whole;
  }

  assignedName(): string {
    const name = this.#next();
    if (name?.kind !== "name") throw this.#wrong("must begin with a name and =", 0);
    if (!this.#skip("=")) throw this.#wrong(`after ${name.text} there must be =`);
    return name.text;
  }

  #parse(binding: number): Compiled {
    this.#depth += 1;
    if (this.#depth > limits.expressionDepthMax) {
      throw this.#wrong(`is nested more than ${limits.expressionDepthMax} deep`);
    }
    let left = this.#parseFirst();
    for (;;) {
      const token = this.#peek();
      if (token?.kind !== "operator") break;
      const own = BINDING[token.text];
      if (own === undefined || own <= binding) break;
      this.#at += 1;
      left = combine(token.text, left, this.#parse(own));
      const after = this.#peek();
      if (own === BINDING["=="] && after?.kind === "operator" && BINDING[after.text] === own) {
        throw this.#wrong("comparisons cannot follow each other; write a < b and b < c");
      }
    }
    this.#depth -= 1;
    return left;
  }

  #parseFirst(): Compiled {
    const token = this.#next();
    if (token === undefined) throw this.#wrong("something is missing at the end");
    switch (token.kind) {
      case "value":
        return () => token.value;
      case "name":
        return token.isCall ? this.#parseCall(token) : readVariable(token.text);
      case "operator":
        return this.#parsePrefix(token);
    }
  }

  #parsePrefix({ text, position }: Token & { kind: "operator" }): Compiled {
    if (text === "(") {
      const inner = this.#parse(0);
      if (!this.#skip(")")) throw this.#wrong("a ) is missing");
      return inner;
    }
    if (text === "-") {
      const inner = this.#parse(SIGN_BINDING);
      return (lookup) => -number(inner(lookup), text);
    }
    if (text === "not" || text === "!") {
      const inner = this.#parse(text === "not" ? NOT_BINDING : SIGN_BINDING);
      return (lookup) => !truth(inner(lookup), text);
    }
    throw this.#wrong(`a value is missing before ${text}`, position);
  }

  #parseCall({ text, position }: Token & { kind: "name" }): Compiled {
    if (text !== "min" && text !== "max") {
      throw this.#wrong(`there is no function ${text}; there are min and max`, position);
    }
    const pick = text === "min" ? Math.min : Math.max;
    this.#at += 1; // the parenthesis, which made it a call
    const parts: Compiled[] = [];
    do parts.push(this.#parse(0));
    while (this.#skip(","));
    if (!this.#skip(")")) throw this.#wrong("a ) is missing");
    return (lookup) => pick(...parts.map((part) => number(part(lookup), text)));
  }

  #peek(): Token | undefined {
    return this.#tokens[this.#at];
  }

  #next(): Token | undefined {
    const token = this.#tokens[this.#at];
    this.#at += 1;
    return token;
  }

  #skip(text: Operator): boolean {
    const token = this.#peek();
    if (token?.kind !== "operator" || token.text !== text) return false;
    this.#at += 1;
    return true;
  }

  #wrong(problem: string, position = this.#peek()?.position ?? this.#text.length) {
    return invalid(this.#field, `position ${position + 1}: ${problem}`);
  }
}

function readVariable(name: string): Compiled {
  return (lookup) => {
    const value = lookup(name);
    if (value === undefined) throw new Problem(`${name} is not known`);
    return value;
  };
}

const SUMS: Readonly<Record<string, (a: number, b: number) => number>> = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "%": (a, b) => a % b,
};

const COMPARISONS: Readonly<Record<string, (a: ExpressionValue, b: ExpressionValue) => boolean>> = {
  "==": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
};

function combine(operator: Operator, left: Compiled, right: Compiled): Compiled {
  if (operator === "and") {
    return (lookup) => truth(left(lookup), operator) && truth(right(lookup), operator);
  }
  if (operator === "or") {
    return (lookup) => truth(left(lookup), operator) || truth(right(lookup), operator);
  }
  const sum = SUMS[operator];
  if (sum !== undefined) {
    return (lookup) => {
      const [a, b] = [number(left(lookup), operator), number(right(lookup), operator)];
      const result = sum(a, b);
      if (!Number.isFinite(result)) throw new Problem(`${a} ${operator} ${b} is not a number`);
      return result;
    };
  }
  const holds = COMPARISONS[operator];
  invariant(holds !== undefined, `${operator} joins two values`);
  return (lookup) => {
    const [a, b] = [left(lookup), right(lookup)];
    if (typeof a !== typeof b) throw new Problem(`${show(a)} and ${show(b)} cannot be compared`);
    return holds(a, b);
  };
}

function number(value: ExpressionValue, user: string): number {
  if (typeof value !== "number") throw new Problem(`${user} needs numbers, not ${show(value)}`);
  return value;
}

function truth(value: ExpressionValue, user: string): boolean {
  if (typeof value === "boolean") return value;
  throw new Problem(`${user} needs true or false, not ${show(value)}`);
}

const show = (value: ExpressionValue): string => JSON.stringify(value);
