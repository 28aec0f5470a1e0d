import { create, type DescMessage, type DescMethodUnary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { Busbar } from "../../../gen/busbar/v1/busbar_pb.ts";
import { createFakeOperations } from "../testing/fake-operations.ts";
import { type Call, METHODS } from "./methods.ts";

/** A request that records which of its fields are read. */
function noted(desc: DescMessage, seen: Set<string>): object {
  return new Proxy(create(desc), {
    get(message, name) {
      if (typeof name === "string") seen.add(name);
      return Reflect.get(message, name) as unknown;
    },
  });
}

test.each(Object.entries(METHODS))(
  "%s passes on every field of its request",
  async (name, call) => {
    const { input } = (Busbar.method as Readonly<Record<string, unknown>>)[name] as DescMethodUnary;
    const seen = new Set<string>();
    const { run } = call as unknown as Call<DescMessage, DescMessage>;
    // Rejected or not: the request is read before anything else is checked.
    await Promise.try(() => run(createFakeOperations(), noted(input, seen) as never)).catch(
      () => {},
    );
    const missed = input.members
      .map(({ localName }) => localName)
      .filter((each) => !seen.has(each));
    expect(missed).toEqual([]);
  },
);
