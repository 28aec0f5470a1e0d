import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";

export type Operator =
  | ("or" | "and" | "not" | "!" | "==" | "!=" | "<" | "<=" | ">" | ">=")
  | ("+" | "-" | "*" | "/" | "%" | "(" | ")" | "," | "=");

export type Token =
  | { readonly kind: "value"; readonly value: number | string | boolean; readonly position: number }
  /** A call: a name with a parenthesis after it. */
  | {
      readonly kind: "name";
      readonly text: string;
      readonly isCall: boolean;
      readonly position: number;
    }
  | { readonly kind: "operator"; readonly text: Operator; readonly position: number };

const WORDS: Readonly<Record<string, Operator>> = { or: "or", and: "and", not: "not" };
const SIGNS: Readonly<Record<string, Operator>> = { "||": "or", "&&": "and" };

const PATTERN = new RegExp(
  [
    String.raw`(?<space>\s+)`,
    String.raw`(?<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)`,
    String.raw`(?<name>[A-Za-z_][\w.]*)`,
    String.raw`\[(?<odd>[^\]]+)\]`,
    String.raw`(?<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')`,
    String.raw`(?<sign>\|\||&&|==|!=|<=|>=|[-+*/%<>()!,=])`,
  ].join("|"),
  "y",
);

/** Splits a text into tokens. Positions count from 0. */
export function tokenize(text: string, field: string): readonly Token[] {
  if (text.length > limits.expressionLengthMax) {
    throw invalid(field, `at most ${limits.expressionLengthMax} characters`);
  }
  const tokens: Token[] = [];
  let position = 0;
  while (position < text.length) {
    PATTERN.lastIndex = position;
    const match = PATTERN.exec(text);
    if (match === null) {
      const what = JSON.stringify(text.slice(position, position + 1));
      throw invalid(field, `position ${position + 1}: ${what} is not understood`);
    }
    const token = tokenOf(match.groups ?? {}, position);
    if (token !== undefined) tokens.push(token);
    position = PATTERN.lastIndex;
  }
  if (tokens.length === 0) throw invalid(field, "is empty");
  return tokens.map((token, at) => {
    const after = tokens[at + 1];
    const isCall = after?.kind === "operator" && after.text === "(";
    return token.kind === "name" ? { ...token, isCall } : token;
  });
}

function tokenOf(
  groups: Readonly<Record<string, string | undefined>>,
  position: number,
): Token | undefined {
  const { number, name, odd, quoted, sign } = groups;
  if (number !== undefined) return { kind: "value", value: Number(number), position };
  if (quoted !== undefined) {
    const value = quoted.slice(1, -1).replaceAll(/\\(.)/gs, "$1");
    return { kind: "value", value, position };
  }
  if (odd !== undefined) return { kind: "name", text: odd.trim(), isCall: false, position };
  if (sign !== undefined) {
    return { kind: "operator", text: SIGNS[sign] ?? (sign as Operator), position };
  }
  if (name === undefined) return undefined;
  if (name === "true" || name === "false") {
    return { kind: "value", value: name === "true", position };
  }
  const word = Object.hasOwn(WORDS, name) ? WORDS[name] : undefined;
  return word === undefined
    ? { kind: "name", text: name, isCall: false, position }
    : { kind: "operator", text: word, position };
}
