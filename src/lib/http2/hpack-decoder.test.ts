import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { HeaderField } from "./header-field.ts";
import { HpackDecoder } from "./hpack-decoder.ts";
import { encodeLiterals } from "./literal-fields.ts";
import { ChoosingEncoder, text } from "./testing/random-encoder.ts";

const LIMITS = { tableBytes: 4_096, listBytes: 16_384 };
const pairsOf = (fields: readonly HeaderField[]): string[] =>
  fields.map(({ name, value }) => `${name}: ${value}`);
const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(" ", ""), "hex");

describe("examples of RFC 7541", () => {
  test("C.4: requests with Huffman codes, the later ones by the table", () => {
    const decoder = new HpackDecoder(LIMITS);
    const first = [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"];
    expect(pairsOf(decoder.decode(bytes("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff")))).toEqual(
      first,
    );
    expect(pairsOf(decoder.decode(bytes("8286 84be 5886 a8eb 1064 9cbf")))).toEqual([
      ...first,
      "cache-control: no-cache",
    ]);
    expect(
      pairsOf(decoder.decode(bytes("8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf"))),
    ).toEqual([
      ":method: GET",
      ":scheme: https",
      ":path: /index.html",
      ":authority: www.example.com",
      "custom-key: custom-value",
    ]);
  });

  test("C.2.3: a literal that is never indexed stays so", () => {
    const block = bytes("1008 7061 7373 776f 7264 0673 6563 7265 74");
    const fields = new HpackDecoder(LIMITS).decode(block);
    expect(fields).toEqual([{ name: "password", value: "secret", isSensitive: true }]);
    expect(new HpackDecoder(LIMITS).decode(encodeLiterals(fields))).toEqual(fields);
  });

  test("C.6: the table of 256 bytes evicts its oldest fields", () => {
    const decoder = new HpackDecoder({ ...LIMITS, tableBytes: 256 });
    decoder.decode(
      bytes(
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
      ),
    );
    expect(pairsOf(decoder.decode(bytes("4883 640e ffc1 c0bf")))[0]).toBe(":status: 307");
    expect(() => decoder.decode(Buffer.of(0x80 | 66))).toThrow("there is no field 66");
  });
});

const anyText = fc
  .uint8Array({ maxLength: 40 })
  .map((value) => Buffer.from(value).toString("latin1"));
const name = fc.oneof(
  fc.constantFrom(":authority", ":path", "te", "user-agent", "grpc-timeout", "x-long".repeat(40)),
  anyText,
);
const field = fc.record({ name, value: anyText });
const how = fc.record({
  form: fc.constantFrom("indexed", "incremental", "plain", "sensitive"),
  isHuffman: fc.boolean(),
});
const block = fc.record({
  resizeTo: fc.option(fc.constantFrom(0, 64, 300, 4_096), { nil: undefined }),
  fields: fc.array(fc.tuple(field, how), { maxLength: 12 }),
});

test("whatever an encoder chooses, block after block, the decoded fields equal the encoded ones", () => {
  fc.assert(
    fc.property(fc.array(block, { minLength: 1, maxLength: 8 }), (blocks) => {
      const encoder = new ChoosingEncoder();
      const decoder = new HpackDecoder(LIMITS);
      for (const { resizeTo, fields } of blocks) {
        const encoded = Buffer.concat([
          ...(resizeTo === undefined ? [] : [encoder.resize(resizeTo)]),
          ...fields.map(([pair, choice]) => encoder.field({ ...pair, isSensitive: false }, choice)),
        ]);
        const decoded = decoder.decode(encoded);
        expect(pairsOf(decoded)).toEqual(fields.map(([pair]) => `${pair.name}: ${pair.value}`));
        expect(new HpackDecoder(LIMITS).decode(encodeLiterals(decoded))).toEqual(decoded);
      }
    }),
  );
});

test("any bytes either decode to headers within the limits or are rejected, in bounded memory", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 5 }), (blocks) => {
      const decoder = new HpackDecoder(LIMITS);
      for (const one of blocks) {
        try {
          const fields = decoder.decode(Buffer.from(one));
          expect(encodeLiterals(fields).length).toBeLessThanOrEqual(LIMITS.listBytes);
        } catch (error) {
          expect(error).toMatchObject({ name: "HpackError" });
          return;
        }
      }
    }),
  );
});

test.for([
  ["the field 0", "80", "there is no field 0"],
  ["a field that nobody sent", "be", "there is no field 62"],
  ["a number without end", "ff ff ff ff ff ff ff ff 01", "a number is too large"],
  ["a number of zeros without end", `ff${"80".repeat(40)}00`, "a number is too large"],
  ["a number that is cut off", "ff 80", "a field is cut off"],
  ["a text that is cut off", "00 05 61 62", "a text is cut off"],
  ["a table that is too large", "3f e2 1f", "a table of 4097 is too large"],
  ["a table resized within a block", "82 20", "the table is resized within a block"],
  ["the end mark inside a text", "00 84 ff ff ff ff 00", "a text has its end mark inside"],
  ["padding of more than 7 bits", "00 82 1f ff 00", "a text ends within a symbol"],
  ["padding with zeros", "00 81 18 00", "a text ends within a symbol"],
] as const)("%s is rejected", ([, hex, problem]) => {
  expect(() => new HpackDecoder(LIMITS).decode(bytes(hex))).toThrow(problem);
});

test("few bytes that expand to many are rejected", () => {
  const decoder = new HpackDecoder(LIMITS);
  const large = Buffer.concat([Buffer.of(0x40), text("n", false), text("v".repeat(4_000), true)]);
  decoder.decode(large);
  expect(() => decoder.decode(Buffer.alloc(5, 0xbe))).toThrow("the headers are too large");
});
