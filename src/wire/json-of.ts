import type { Message } from "@bufbuild/protobuf";
import { invariant } from "../lib/invariant.ts";
import type { JsonOf } from "./json-shape.ts";

export type Convert = (value: unknown) => unknown;

/** What makes JSON of messages, by their full names: filled by write-json.ts. */
export const writers = new Map<string, Convert>();

/**
 * `toJson` for messages that came from the client, which has made their types known. Loads nothing
 * that knows descriptors: commands use it, and their help must be there at once.
 */
export function jsonOf<T extends Message>(message: T): JsonOf<T> {
  const write = writers.get(message.$typeName);
  invariant(write !== undefined, `the JSON of ${message.$typeName} is not known yet`);
  return write(message) as JsonOf<T>;
}
