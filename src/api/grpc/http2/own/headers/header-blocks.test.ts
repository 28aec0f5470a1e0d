import * as fc from "fast-check";
import { expect, test } from "vitest";
import { HpackDecoder } from "../../../../../lib/http2/hpack-decoder.ts";
import { ChoosingEncoder, text } from "../../../../../lib/http2/testing/random-encoder.ts";
import { limits } from "../../../../../limits.ts";
import { HeaderBlocks } from "./header-blocks.ts";
import { requestHeadOf } from "./header-rules.ts";

const START = Buffer.of(0x83, 0x84, 0x86); // POST, /, http
const NEWEST = Buffer.of(0xbe);
const field = (name: string, value: string) => ({ name, value, isSensitive: false });

test("a block is read again when a later one has changed the table", () => {
  const blocks = new HeaderBlocks(false);
  const add = (value: string): Buffer =>
    Buffer.concat([START, Buffer.of(0x40), text("x-a", false), text(value, false)]);
  const again = Buffer.concat([START, NEWEST]);
  expect(blocks.request(add("1"))?.headers["x-a"]).toBe("1");
  const first = blocks.request(again);
  expect(first?.headers["x-a"]).toBe("1");
  expect(blocks.request(again)).toBe(first); // known
  expect(blocks.request(add("2"))?.headers["x-a"]).toBe("2");
  expect(blocks.request(again)?.headers["x-a"]).toBe("2");
  blocks.fields(Buffer.concat([Buffer.of(0x40), text("x-a", false), text("3", false)]));
  expect(blocks.request(again)?.headers["x-a"]).toBe("3");
});

test("known blocks have the same headers as decoded ones, for any encoder", () => {
  const name = fc.constantFrom("x-a", "x-b", "x-c");
  const value = fc.constantFrom("1", "2", "long ".repeat(30).trim());
  const form = fc.constantFrom("indexed", "incremental", "plain", "sensitive");
  const one = fc.record({ name, value, form, isHuffman: fc.boolean() } as const);
  const resize = fc.option(fc.constantFrom(0, 80, 200, 4_096), { nil: undefined, freq: 6 });
  const block = fc.record({ fields: fc.array(one, { maxLength: 5 }), resize });
  const property = fc.property(fc.array(block, { maxLength: 40 }), (list) => {
    const encoder = new ChoosingEncoder();
    const { http2HeaderTableBytes: tableBytes, http2HeaderBytesMax: listBytes } = limits;
    const decoder = new HpackDecoder({ tableBytes, listBytes });
    const blocks = new HeaderBlocks(false);
    for (const { fields, resize: capacity } of list) {
      const bytes = Buffer.concat([
        capacity === undefined ? Buffer.of() : encoder.resize(capacity),
        START,
        ...fields.map((each) => encoder.field(field(each.name, each.value), each)),
      ]);
      expect(blocks.request(bytes)).toEqual(requestHeadOf(decoder.decode(bytes)));
    }
  });
  fc.assert(property, { numRuns: 500 });
});
