import {
  create,
  type DescField,
  type DescMessage,
  fromBinary,
  type Message,
  ScalarType,
  toBinary,
} from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { file_busbar_v1_agent } from "../../gen/busbar/v1/agent_pb.ts";
import { Busbar, file_busbar_v1_busbar, JobSchema } from "../../gen/busbar/v1/busbar_pb.ts";
import { file_busbar_v1_cluster } from "../../gen/busbar/v1/cluster_pb.ts";
import { messageType } from "../message-types.ts";
import { decodeMessage } from "./decode-message.ts";
import { encodeMessage } from "./encode-message.ts";

const schemas = [file_busbar_v1_agent, file_busbar_v1_cluster, file_busbar_v1_busbar].flatMap(
  (file) => file.messages,
);

const integers = (minimum: number, maximum: number) =>
  fc.oneof(fc.constantFrom(0, 1, minimum, maximum), fc.integer({ min: minimum, max: maximum }));
const SCALARS: Readonly<Partial<Record<ScalarType, fc.Arbitrary<unknown>>>> = {
  [ScalarType.STRING]: fc.string({ unit: "grapheme" }),
  [ScalarType.BOOL]: fc.boolean(),
  [ScalarType.INT32]: integers(-(2 ** 31), 2 ** 31 - 1),
  [ScalarType.UINT32]: integers(0, 2 ** 32 - 1),
  [ScalarType.INT64]: fc.oneof(
    fc.constantFrom(0n, 1n, -1n, 2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n)),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc.maxSafeInteger().map(BigInt),
  ),
  [ScalarType.DOUBLE]: fc.oneof(fc.constantFrom(0, -0, NaN, Infinity), fc.double()),
  [ScalarType.BYTES]: fc.uint8Array({ maxLength: 300 }),
};

const DEPTH_MAX = 3;

/** Any message, as plain objects. */
function anyMessage(desc: DescMessage, depth = 0): fc.Arbitrary<Record<string, unknown>> {
  const members: Record<string, fc.Arbitrary<unknown>> = {};
  for (const member of desc.members) {
    if (member.kind === "oneof") {
      const cases = member.fields.filter(
        (field) => depth < DEPTH_MAX || field.message === undefined,
      );
      const one = cases.map((field) =>
        anyField(field, depth).map((value) => ({ case: field.localName, value })),
      );
      if (one.length > 0) members[member.localName] = fc.oneof(...one);
    } else if (depth < DEPTH_MAX || member.message === undefined) {
      members[member.localName] = anyField(member, depth);
    }
  }
  return fc.record(members, { requiredKeys: [] });
}

function anyField(field: DescField, depth: number): fc.Arbitrary<unknown> {
  const one = anyValue(field, depth);
  if (field.fieldKind === "list") return fc.array(one, { maxLength: 3 });
  return field.fieldKind === "map" ? fc.dictionary(fc.string(), one, { maxKeys: 3 }) : one;
}

function anyValue(field: DescField, depth: number): fc.Arbitrary<unknown> {
  if (field.message !== undefined) return anyMessage(field.message, depth + 1);
  if (field.enum !== undefined) return fc.constantFrom(...field.enum.values.map((v) => v.number));
  const scalar = field.scalar === undefined ? undefined : SCALARS[field.scalar];
  if (scalar === undefined) throw new Error(`no values for ${field.toString()}`);
  return scalar;
}

/** Buffers are bytes like others. */
const plain = (message: unknown): unknown => {
  if (message instanceof Uint8Array) return [...message];
  if (Array.isArray(message)) return message.map(plain);
  if (typeof message !== "object" || message === null) return message;
  return Object.fromEntries(Object.entries(message).map(([key, value]) => [key, plain(value)]));
};

describe("every message of the schema", () => {
  test.each(schemas.map((desc) => [desc.typeName, desc] as const))("%s", (typeName, desc) => {
    const type = messageType(typeName);
    fc.assert(
      fc.property(anyMessage(desc), (init) => {
        const message = create(desc, init as Message);
        const theirs = toBinary(desc, message);
        const ours = encodeMessage(type, init);
        // Read by each other: bytes may differ in the order of maps' keys alone.
        expect(plain(fromBinary(desc, ours))).toEqual(plain(fromBinary(desc, theirs)));
        expect(plain(decodeMessage(type, theirs))).toEqual(plain(fromBinary(desc, theirs)));
        expect(ours).toHaveLength(theirs.byteLength);
      }),
      { numRuns: 20 },
    );
  });
});

test("the calls of the schema are those of the client", async () => {
  const { busbarMethods } = await import("../../client/methods.ts");
  const ours = [...busbarMethods()].map(([name, { path, kind }]) => ({ name, path, kind }));
  expect(ours).toEqual(
    Busbar.methods.map(({ localName, name, methodKind }) => ({
      name: localName,
      path: `/busbar.v1.Busbar/${name}`,
      kind: methodKind,
    })),
  );
});

const job = messageType("Job");

test("fields of a newer version, and of another type, are passed over", () => {
  const bytes = Buffer.concat([
    Buffer.of(0xfa, 0x7f, 2, 1, 2), // field 2047, bytes
    Buffer.of(0xf8, 0x7f, 5), // field 2047, a number
    Buffer.of(0x08, 5), // field 1, a text in the schema, as a number
    Buffer.from(toBinary(JobSchema, create(JobSchema, { id: "17" }))),
  ]);
  expect(decodeMessage(job, bytes)).toMatchObject({ $typeName: "busbar.v1.Job", id: "17" });
});

test.each([
  ["cut off within a text", Buffer.of(0x0a, 5, 65), "cut off"],
  ["cut off within a number", Buffer.of(0x80), "cut off"],
  ["a number without an end", Buffer.alloc(12, 0xff), "a number is too long"],
  ["groups", Buffer.of(0x0b), "kind 3"],
])("bytes that are no message: %s", (_, bytes, words) => {
  expect(() => decodeMessage(job, bytes)).toThrow(words);
});

test("a value of another type is refused by its path", () => {
  const refused = (message: object) => () =>
    encodeMessage(messageType("SubmitJobsRequest"), message);
  expect(refused({ jobs: [{ spec: { command: ["a", 5] } }] })).toThrow(
    "jobs[0].spec.command[1]: must be a text, not 5",
  );
  expect(refused({ jobs: [{ spec: { priority: 1.5 } }] })).toThrow("must be a whole number from");
  expect(refused({ jobs: ["x"] })).toThrow("jobs[0]: must be an object, not x");
});

test("a key that means a prototype elsewhere is a key", () => {
  const spec = messageType("JobSpec");
  const labels = JSON.parse('{"__proto__":"x"}') as object;
  const read = decodeMessage(spec, encodeMessage(spec, { labels })) as { labels: object };
  expect(Object.keys(read.labels)).toEqual(["__proto__"]);
  expect(Object.getPrototypeOf(read.labels)).toBe(Object.prototype);
});
