import { nearest } from "../../../lib/nearest.ts";
import type { Position, YamlTree } from "../../../lib/yaml/yaml-tree.ts";
import { limits } from "../../../limits.ts";
import type { Plain } from "../model.ts";
import type { Problems } from "./problems.ts";

/**
 * A value of the document, its path, and where to report its problems. Every reader reports at most
 * one problem and then returns undefined (or an empty value), so that reading continues.
 */
export interface Place {
  readonly tree: YamlTree;
  readonly at: Position;
  /** "tasks[1].resources". */
  readonly path: string;
  readonly problems: Problems;
}

export const rootPlace = (tree: YamlTree, problems: Problems): Place => ({
  tree,
  at: tree.at,
  path: "",
  problems,
});

/** Always undefined, so that a reader can return it. */
export function reportProblem(place: Place, message: string): undefined {
  place.problems.add(place.at, place.path, message);
  return undefined;
}

const child = (place: Place, tree: YamlTree, path: string): Place => ({
  tree,
  at: tree.at,
  path,
  problems: place.problems,
});

export const isMap = (place: Place): boolean => place.tree.kind === "map";
export const isList = (place: Place): boolean => place.tree.kind === "list";
export const isText = ({ tree }: Place): boolean =>
  tree.kind === "scalar" && typeof tree.value === "string";

/** All entries of a map with arbitrary keys. */
export function entriesOf(place: Place): readonly (readonly [string, Place])[] {
  const { tree, path } = place;
  if (tree.kind !== "map") {
    reportProblem(place, "must be a map of keys and values");
    return [];
  }
  return tree.entries.map(({ key, value }) => {
    const shown = key.length > 60 ? `${key.slice(0, 60)}…` : key;
    return [key, child(place, value, path === "" ? shown : `${path}.${shown}`)];
  });
}

/**
 * The entries of a map whose keys must be among the known ones. `hints`: messages for keys that are
 * valid elsewhere.
 */
export function fieldsOf<Key extends string>(
  place: Place,
  known: readonly Key[],
  hints: Readonly<Record<string, string>> = {},
): ReadonlyMap<Key, Place> {
  const { tree } = place;
  const fields = new Map<Key, Place>();
  for (const [index, [key, value]] of entriesOf(place).entries()) {
    const found = known.find((each) => each === key);
    if (found !== undefined) fields.set(found, value);
    else if (tree.kind === "map") {
      const at = tree.entries[index]?.at ?? place.at;
      const hint = Object.hasOwn(hints, key) ? `; ${hints[key]}` : meantOrAll(key, known);
      place.problems.add(at, place.path, `unknown key ${quote(key)}${hint}`);
    }
  }
  return fields;
}

const meantOrAll = (word: string, known: readonly string[]): string => {
  const meant = nearest(word, known);
  return meant === undefined ? `; there are ${known.join(", ")}` : `; did you mean "${meant}"?`;
};

/**
 * Comparison takes time: no suggestions from thousands of names, or for mistakes that are not
 * shown.
 */
const SUGGESTED_FROM_MAX = 500;

/** "; did you mean …?", or the known words when they are few, or nothing. */
export function suggest(place: Place, word: string, known: Iterable<string>): string {
  if (place.problems.count >= limits.jobspecProblemsShownMax) return "";
  const names = [...known].slice(0, SUGGESTED_FROM_MAX);
  const meant = nearest(word, names);
  if (meant !== undefined) return `; did you mean ${quote(meant)}?`;
  if (names.length === 0) return "; there are none";
  return names.length > 8 ? "" : `; there ${names.length > 1 ? "are" : "is"} ${names.join(", ")}`;
}

/** Text of users may be long, and may contain control characters. */
export const quote = (text: string): string =>
  JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);

export function itemsOf(place: Place): readonly Place[] {
  const { tree, path } = place;
  if (tree.kind === "list") {
    return tree.items.map((item, index) => child(place, item, `${path}[${index}]`));
  }
  reportProblem(place, "must be a list");
  return [];
}

/** A text; a number or boolean in its spelling, so that version 1.20 stays 1.20. */
export function textOf(place: Place): string | undefined {
  const { tree } = place;
  if (tree.kind !== "scalar" || tree.value === null) {
    return reportProblem(place, "must be a text");
  }
  if (tree.source.includes("\0")) return reportProblem(place, "must not contain a NUL character");
  return tree.source;
}

export function numberOf(place: Place): number | undefined {
  const { tree } = place;
  if (tree.kind === "scalar" && typeof tree.value === "number" && Number.isFinite(tree.value)) {
    return tree.value;
  }
  return reportProblem(place, `must be a number, not ${describe(tree)}`);
}

/** A whole number from 1. */
export function countOf(place: Place): number | undefined {
  const { tree } = place;
  const value = tree.kind === "scalar" ? tree.value : undefined;
  if (typeof value === "number" && Number.isInteger(value) && value >= 1) {
    if (value <= limits.jobspecCountMax) return value;
    return reportProblem(place, `must be at most ${limits.jobspecCountMax}`);
  }
  return reportProblem(place, `must be a whole number from 1, not ${describe(tree)}`);
}

export function flagOf(place: Place): boolean | undefined {
  const { tree } = place;
  if (tree.kind === "scalar" && typeof tree.value === "boolean") return tree.value;
  return reportProblem(place, `must be true or false, not ${describe(tree)}`);
}

/** Any value as plain data. */
export function plainOf({ tree }: { readonly tree: YamlTree }): Plain {
  switch (tree.kind) {
    case "scalar":
      // JSON has no infinity.
      return typeof tree.value === "number" && !Number.isFinite(tree.value)
        ? tree.source
        : tree.value;
    case "list":
      return tree.items.map((each) => plainOf({ tree: each }));
    case "map":
      return Object.fromEntries(
        tree.entries.map(({ key, value }) => [key, plainOf({ tree: value })]),
      );
  }
}

function describe(tree: YamlTree): string {
  switch (tree.kind) {
    case "list":
      return "a list";
    case "map":
      return "a map";
    case "scalar":
      if (tree.value === null) return "nothing";
      return typeof tree.value === "string" ? quote(tree.value) : tree.source.slice(0, 60);
  }
}

/** Names become parts of paths and of name expressions, and are displayed. */
export function nameOf(place: Place): string | undefined {
  const text = textOf(place);
  return text === undefined ? undefined : checkNameAt(place, text);
}

export function checkNameAt(place: Place, name: string): string | undefined {
  const isGood =
    name.length <= limits.nameLengthMax && name.trim() === name && /^[^|,&/\p{Cc}]+$/u.test(name);
  if (isGood) return name;
  return reportProblem(
    place,
    `${quote(name)} is not a name; it has 1 to ${limits.nameLengthMax} characters, ` +
      `no "|", ",", "&" or "/", and no blank at its ends`,
  );
}

/** The name of a whole jobspec: nothing refers to it, so it may be any text that is not empty. */
export function titleOf(place: Place): string | undefined {
  const text = textOf(place);
  if (text === undefined || isTitle(text)) return text;
  return reportProblem(place, `must have 1 to ${limits.nameLengthMax} characters`);
}

export const isTitle = (text: string): boolean =>
  text.length >= 1 && text.length <= limits.nameLengthMax && !text.includes("\0");

/** "a|b,c": preferably a, else b and c. "," and "&" are the same and bind more tightly. */
export function choiceOf(place: Place): readonly (readonly string[])[] | undefined {
  const text = textOf(place);
  if (text === undefined) return undefined;
  const choice = text.split("|").map((each) => each.split(/[,&]/).map((name) => name.trim()));
  if (choice.some((names) => names.includes(""))) {
    return reportProblem(
      place,
      `${quote(text)} is not a choice of names; write it like a, a|b or a&b`,
    );
  }
  if (choice.flat().length <= limits.jobspecAlternativesMax) return choice;
  return reportProblem(place, `at most ${limits.jobspecAlternativesMax} names`);
}

/** The value at the keys, if the document has it. Reports no problems. */
export function descend(place: Place, ...keys: readonly string[]): Place | undefined {
  let found: Place | undefined = place;
  for (const key of keys) {
    const { tree, path }: Place = found;
    const entry = tree.kind === "map" ? tree.entries.find((each) => each.key === key) : undefined;
    if (entry === undefined) return undefined;
    found = child(found, entry.value, path === "" ? key : `${path}.${key}`);
  }
  return found;
}
