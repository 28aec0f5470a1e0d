import { invalid } from "../../lib/errors.ts";
import { readYaml, type Value } from "../yaml/yaml-value.ts";

/** `whose`: the program that reads such a file, and only one of several documents. */
export function readDocument(content: string, file: string, whose: string): Value {
  const [root, second] = readYaml(content, file);
  if (root === undefined) throw invalid(file, "is empty");
  if (second !== undefined) throw invalid(file, `has several documents; ${whose} reads one`);
  return root;
}

export type Read = (value: Value, key: string) => void;

/** Walks through maps, and records unread keys. */
export class Walk {
  readonly #unknown: string[];

  constructor(unknown: string[]) {
    this.#unknown = unknown;
  }

  map(value: Value, path: string, known: Readonly<Record<string, Read>>): void {
    if (value.kind === "nothing") return;
    for (const [name, inner] of value.entries()) {
      const key = path === "" ? name : `${path}.${name}`;
      const read = Object.hasOwn(known, name) ? known[name] : undefined;
      if (read === undefined) this.#unknown.push(key);
      else read(inner, key);
    }
  }

  inside(known: Readonly<Record<string, Read>>): Read {
    return (value, key) => this.map(value, key, known);
  }

  each(value: Value, path: string, read: Read): void {
    if (value.kind === "nothing") return;
    for (const [name, inner] of value.entries()) read(inner, `${path}.${name}`);
  }
}
