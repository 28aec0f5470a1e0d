import { parseSync } from "rolldown/utils";

/**
 * One change of a module, by name. `within` is a function, a method or a constant ("fits",
 * "Holds.#look", "LOSSES.keep"); `find` is an expression, or statements that end with ";" or "}". It is
 * compared by its syntax, so that white space, comments and what stands around it do not matter; `$_`
 * in it stands for any expression. It must be found exactly once, or the edit is out of date.
 */
export type Edit =
  | {
      readonly kind: "swap";
      readonly file: string;
      readonly within: string;
      readonly find: string;
      readonly replace: string;
    }
  | {
      readonly kind: "body";
      readonly file: string;
      readonly within: string;
      readonly replace: string;
    }
  | { readonly kind: "import"; readonly file: string; readonly text: string };

/** A node of the syntax tree: only what all have in common is known of it. */
interface Syntax {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

interface Cut extends Range {
  readonly text: string;
}

/** The text of a module with the edits made; throws when one does not find its place exactly once. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  const program = parse(text, "the module");
  let edited = text;
  for (const cut of edits.map((edit) => cutOf(program, edit)).sort((a, b) => b.start - a.start)) {
    edited = edited.slice(0, cut.start) + cut.text + edited.slice(cut.end);
  }
  parse(edited, "the edited module");
  return edited;
}

function cutOf(program: Syntax, edit: Edit): Cut {
  if (edit.kind === "import") return { start: 0, end: 0, text: `${edit.text}\n` };
  const scopes = namedNodes(program, edit.within);
  if (scopes.length === 0) throw new Error(`${edit.file} has no ${edit.within}`);
  if (edit.kind === "body") {
    return { ...only(scopes.flatMap(bodiesOf), edit), text: `{ ${edit.replace} }` };
  }
  const wanted = parsePattern(edit.find);
  const found = scopes.flatMap((scope) => findAll(scope, wanted));
  const text = wanted.kind === "expression" ? `(${edit.replace})` : edit.replace || ";";
  return { ...only(found, edit), text };
}

function only(found: readonly Range[], edit: Exclude<Edit, { kind: "import" }>): Range {
  const [first, ...others] = found;
  if (first !== undefined && others.length === 0) return { start: first.start, end: first.end };
  const what = edit.kind === "body" ? "a body" : edit.find;
  throw new Error(`${edit.file}: ${edit.within} has ${found.length} times, not once: ${what}`);
}

type Pattern =
  | { readonly kind: "expression"; readonly expression: Syntax }
  | { readonly kind: "statements"; readonly statements: readonly Syntax[] };

function parsePattern(find: string): Pattern {
  const holders = childrenOf(parse(`async function* f() {\n${find}\n}`, find));
  const statements = holders.flatMap(bodiesOf).flatMap(childrenOf);
  const [first] = statements;
  if (statements.length === 1 && first?.type === "ExpressionStatement" && !find.endsWith(";")) {
    return { kind: "expression", expression: first["expression"] as Syntax };
  }
  return { kind: "statements", statements };
}

function parse(text: string, what: string): Syntax {
  const { program, errors } = parseSync("module.ts", text, { preserveParens: false });
  if (errors.length > 0) throw new Error(`${what} cannot be parsed: ${errors[0]?.message}`);
  return program as unknown as Syntax;
}

/** Nodes that are declared under this path of names: overloads and accessors share one. */
function namedNodes(node: Syntax, within: string, above = ""): Syntax[] {
  const name = nameOf(node);
  const path = name === undefined ? above : above === "" ? name : `${above}.${name}`;
  if (name !== undefined && path === within) return [node];
  return childrenOf(node).flatMap((child) => namedNodes(child, within, path));
}

const DECLARATIONS = new Set(["FunctionDeclaration", "ClassDeclaration", "VariableDeclarator"]);
const MEMBERS = new Set(["MethodDefinition", "PropertyDefinition", "Property"]);

function nameOf(node: Syntax): string | undefined {
  const part = DECLARATIONS.has(node.type) ? "id" : MEMBERS.has(node.type) ? "key" : undefined;
  const id = part === undefined ? undefined : (node[part] as Syntax | null);
  if (id?.type === "Identifier") return id["name"] as string;
  return id?.type === "PrivateIdentifier" ? `#${String(id["name"])}` : undefined;
}

/** Of a function, or of the one that a method, a property or a constant holds. */
function bodiesOf(node: Syntax): Syntax[] {
  const holder = [node, node["value"], node["init"]].find(
    (one) => isSyntax(one) && isSyntax(one["body"]),
  ) as Syntax | undefined;
  return holder === undefined ? [] : [holder["body"] as Syntax];
}

function findAll(node: Syntax, pattern: Pattern): Range[] {
  const inside = childrenOf(node).flatMap((child) => findAll(child, pattern));
  if (pattern.kind === "expression") {
    return isSame(pattern.expression, node) ? [node, ...inside] : inside;
  }
  const { statements } = pattern;
  if (statements.length === 1) return isSame(statements[0], node) ? [node, ...inside] : inside;
  const runs = Object.values(node).flatMap((list) =>
    Array.isArray(list) ? runsIn(list, statements) : [],
  );
  return [...runs, ...inside];
}

/** Where statements follow each other in a list. */
function runsIn(list: readonly unknown[], statements: readonly Syntax[]): Range[] {
  return list.flatMap((first, at) => {
    const run = list.slice(at, at + statements.length);
    const last = run.at(-1);
    return isSyntax(first) && isSyntax(last) && isSame(statements, run)
      ? [{ start: first.start, end: last.end }]
      : [];
  });
}

const PLACES = new Set(["start", "end", "raw"]);

function isSame(pattern: unknown, found: unknown): boolean {
  if (Array.isArray(pattern)) {
    return (
      Array.isArray(found) &&
      pattern.length === found.length &&
      pattern.every((one, at) => isSame(one, found[at]))
    );
  }
  if (!isSyntax(pattern)) return !isSyntax(found) && isEqualValue(pattern, found);
  if (!isSyntax(found)) return false;
  if (pattern.type === "Identifier" && pattern["name"] === "$_") return true;
  return Object.keys({ ...pattern, ...found }).every(
    (key) => PLACES.has(key) || isSame(pattern[key], found[key]),
  );
}

/** Values of leaves: texts, numbers, and small records such as those of templates. */
const isEqualValue = (one: unknown, other: unknown): boolean =>
  Object.is(one, other) ||
  (typeof one === "object" && JSON.stringify(one) === JSON.stringify(other));

const isSyntax = (value: unknown): value is Syntax =>
  typeof value === "object" && value !== null && "type" in value;

const childrenOf = (node: Syntax): Syntax[] =>
  Object.values(node).flatMap((value) =>
    Array.isArray(value) ? value.filter(isSyntax) : isSyntax(value) ? [value] : [],
  );
