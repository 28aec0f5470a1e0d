import { createHash } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { RunSpecSchema, SpecPartSchema } from "../../gen/busbar/v1/agent_pb.ts";
import { type Encoding, ENCODINGS, pack } from "../../lib/bytes/packing.ts";
import { limits } from "../../limits.ts";
import { HeldSpecs } from "./held-specs.ts";

function aSpec(job: number, bytes = 1_000, encoding: Encoding | "" = "") {
  const script = Array.from({ length: bytes }, (_, at) => ((at * job) % 7).toString()).join("");
  const raw = toBinary(RunSpecSchema, create(RunSpecSchema, { job, script }));
  const packed = encoding === "" ? Buffer.from(raw) : pack(encoding, raw);
  const digest = createHash("sha256").update(packed).digest();
  const part = (offset: number, end = packed.length) =>
    create(SpecPartSchema, {
      job,
      digest,
      size: packed.length,
      offset,
      data: packed.subarray(offset, end),
      encoding,
    });
  return { script, digest, part, size: packed.length };
}

for (const encoding of ["", ...ENCODINGS] as const) {
  test(`a spec in parts equals the sent one, packed with "${encoding}"`, () => {
    const held = new HeldSpecs();
    const spec = aSpec(1, 5_000, encoding);
    held.add(spec.part(0, 20));
    held.add(spec.part(20, 30));
    held.add(spec.part(30));
    expect(held.take(1, spec.digest).script).toBe(spec.script);
  });
}

test("lists how much of each has arrived, so that the rest can be sent", () => {
  const held = new HeldSpecs();
  const [one, two] = [aSpec(1), aSpec(2)];
  held.add(one.part(0, 100));
  held.add(two.part(0));
  expect(held.list()).toMatchObject([
    { digest: one.digest, bytes: 100 },
    { digest: two.digest, bytes: two.size },
  ]);
  held.add(one.part(100));
  expect(held.take(1, one.digest).script).toBe(one.script);
});

const bad: { name: string; of: (spec: ReturnType<typeof aSpec>) => object; says: string }[] = [
  { name: "does not continue", of: ({ part }) => part(200), says: "spec_part.offset" },
  {
    name: "is too long",
    of: ({ part }) => ({ ...part(100), size: 150 }),
    says: "spec_part.offset",
  },
  { name: "is of nothing", of: ({ part }) => ({ ...part(100), size: 0 }), says: "spec_part.size" },
  {
    name: "is of too much",
    of: ({ part }) => ({
      ...part(0),
      digest: new Uint8Array(32),
      size: 2 * limits.messageBytesMax,
    }),
    says: "spec_part.size",
  },
];
for (const { name, of, says } of bad) {
  test(`a part that ${name} is rejected`, () => {
    const held = new HeldSpecs();
    const spec = aSpec(1);
    held.add(spec.part(0, 100));
    expect(() => held.add(create(SpecPartSchema, of(spec)))).toThrow(says);
  });
}

test("bytes that do not match the digest are rejected and dropped", () => {
  const held = new HeldSpecs();
  const spec = aSpec(1);
  const part = spec.part(0);
  part.data = new Uint8Array(part.data.length);
  held.add(part);
  expect(() => held.take(1, spec.digest)).toThrow("spec_part.digest");
  expect(held.list()).toEqual([]);
});

test("a spec that has not arrived is not available", () => {
  const held = new HeldSpecs();
  const spec = aSpec(1);
  expect(() => held.take(1, spec.digest)).toThrow("has not arrived");
  held.add(spec.part(0, 100));
  expect(() => held.take(1, spec.digest)).toThrow("has not arrived");
});

test("it is removed when its job has no runs left, and the bytes of all specs are bounded", () => {
  const held = new HeldSpecs(10_000);
  for (let job = 1; job <= 50; job++) held.add(aSpec(job, 1_000).part(0));
  expect(held.bytes).toBeLessThanOrEqual(10_000);
  expect(held.list().at(-1)?.digest).toEqual(aSpec(50).digest);
  for (let job = 1; job <= 50; job++) held.release(job);
  expect({ bytes: held.bytes, list: held.list() }).toEqual({ bytes: 0, list: [] });
});

test("a spec larger than the limit is held alone", () => {
  const held = new HeldSpecs(500);
  held.add(aSpec(1).part(0));
  held.add(aSpec(2).part(0));
  expect(held.take(2, aSpec(2).digest).script).toBe(aSpec(2).script);
  expect(held.list().length).toBe(1);
});
