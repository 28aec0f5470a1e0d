import * as fc from "fast-check";
import { expect, test } from "vitest";
import { userPartToBasic } from "./basic-authorization.ts";
import { FrameRewriter } from "./frame-rewriter.ts";
import { HpackDecoder } from "../../../lib/http2/hpack-decoder.ts";
import { text } from "../../../lib/http2/testing/random-encoder.ts";

const LIMITS = { tableBytes: 4_096, listBytes: 16_384 };
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const [DATA, HEADERS, SETTINGS, CONTINUATION] = [0, 1, 4, 9];
const [END_STREAM, END_HEADERS, PADDED, PRIORITY] = [1, 4, 8, 32];

function frame(type: number, flags: number, streamId: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

const AUTHORITY = 0x41; // a literal that goes into the table, named by the first known field
const withAuthority = (authority: string): Buffer =>
  Buffer.concat([Buffer.of(0x83, 0x86, AUTHORITY), text(authority, true)]);
const BY_TABLE = Buffer.of(0x83, 0x86, 0xbe);

/** The output for these input pieces. */
function rewritten(chunks: readonly Buffer[]): Buffer {
  const rewriter = new FrameRewriter({ ...LIMITS, rewrite: userPartToBasic });
  const out: Buffer[] = [];
  for (const chunk of chunks) {
    rewriter.push(chunk);
    for (let next = rewriter.pull(); next !== undefined; next = rewriter.pull()) out.push(next);
  }
  return Buffer.concat(out);
}

const framesOf = (bytes: Buffer) => {
  const frames = [];
  for (let at = PREFACE.length; at < bytes.length;) {
    const length = bytes.readUIntBE(at, 3);
    const payload = bytes.subarray(at + 9, at + 9 + length);
    frames.push({
      type: bytes[at + 3],
      flags: bytes[at + 4],
      streamId: bytes.readUInt32BE(at + 5),
      payload,
    });
    at += 9 + length;
  }
  return frames;
};

const headersOf = (payload: Buffer): Record<string, string> =>
  Object.fromEntries(
    new HpackDecoder(LIMITS).decode(payload).map(({ name, value }) => [name, value]),
  );

const basic = (user: string): string => `Basic ${Buffer.from(user).toString("base64")}`;

const CONNECTION = Buffer.concat([
  PREFACE,
  frame(SETTINGS, 0, 0, Buffer.alloc(0)),
  frame(HEADERS, END_HEADERS, 1, withAuthority("w:t@host:1")),
  frame(DATA, END_STREAM, 1, Buffer.from("hello")),
  frame(HEADERS, 0, 3, BY_TABLE.subarray(0, 1)),
  frame(CONTINUATION, 0, 3, BY_TABLE.subarray(1, 2)),
  frame(CONTINUATION, END_HEADERS, 3, BY_TABLE.subarray(2)),
  frame(DATA, END_STREAM, 3, Buffer.alloc(0)),
]);

test("the user part becomes Basic authentication, also in calls that refer to it by the table", () => {
  const [settings, first, data, second, last, ...none] = framesOf(rewritten([CONNECTION]));
  expect(none).toEqual([]);
  expect(settings?.type).toBe(SETTINGS);
  expect(data?.payload.toString()).toBe("hello");
  expect(last).toMatchObject({ type: DATA, flags: END_STREAM, streamId: 3 });
  for (const [request, streamId] of [
    [first, 1],
    [second, 3],
  ] as const) {
    expect(request).toMatchObject({ type: HEADERS, flags: END_HEADERS, streamId });
    expect(headersOf(request?.payload ?? Buffer.alloc(0))).toEqual({
      ":method": "POST",
      ":scheme": "http",
      ":authority": "host:1",
      authorization: basic("w:t"),
    });
  }
});

test("the cuts between pieces do not matter", () => {
  const whole = rewritten([CONNECTION]);
  expect(rewritten([...CONNECTION].map((byte) => Buffer.of(byte)))).toEqual(whole);
  const cuts = fc.array(fc.nat(CONNECTION.length), { maxLength: 12 });
  fc.assert(
    fc.property(cuts, (places) => {
      const ends = [0, ...places.toSorted((a, b) => a - b), CONNECTION.length];
      const pieces = ends.slice(1).map((end, at) => CONNECTION.subarray(ends[at], end));
      expect(rewritten(pieces)).toEqual(whole);
    }),
  );
});

test("padding is removed, priority stays, and the client's own header is replaced", () => {
  const own = Buffer.concat([
    Buffer.of(0x00),
    text("authorization", false),
    text(basic("x:y"), false),
  ]);
  const block = Buffer.concat([withAuthority("a%40b:t@host"), own]);
  const padding = Buffer.concat([Buffer.of(3, 0, 0, 0, 7, 15), block, Buffer.alloc(3)]);
  const flags = END_HEADERS | END_STREAM | PADDED | PRIORITY;
  const [out] = framesOf(rewritten([PREFACE, frame(HEADERS, flags, 5, padding)]));
  expect(out?.flags).toBe(END_HEADERS | END_STREAM | PRIORITY);
  expect(out?.payload.subarray(0, 5)).toEqual(Buffer.of(0, 0, 0, 7, 15));
  expect(headersOf(out?.payload.subarray(5) ?? Buffer.alloc(0))).toMatchObject({
    ":authority": "host",
    authorization: basic("a@b:t"),
  });
});

test("without a user part all headers stay unchanged", () => {
  const fields = [
    { name: ":authority", value: "host:1", isSensitive: false },
    { name: "authorization", value: "Bearer a@b", isSensitive: true },
  ];
  expect(userPartToBasic(fields)).toBe(fields);
});

test("headers that no longer fit into one frame continue in others", () => {
  const user = `u:${"t".repeat(10_000)}`;
  const field = Buffer.concat([Buffer.of(0x00), text("x".repeat(6_000), true), text("", false)]);
  const block = Buffer.concat([Buffer.of(0x01), text(`${user}@h`, false), field]);
  const [first, second] = framesOf(rewritten([PREFACE, frame(HEADERS, END_HEADERS, 1, block)]));
  expect([first?.type, first?.flags, first?.payload.length]).toEqual([HEADERS, 0, 16_384]);
  expect([second?.type, second?.flags]).toEqual([CONTINUATION, END_HEADERS]);
  const whole = Buffer.concat([first?.payload ?? Buffer.of(), second?.payload ?? Buffer.of()]);
  const fields = new HpackDecoder({ ...LIMITS, listBytes: 30_000 }).decode(whole);
  expect(fields.at(-1)?.value).toBe(basic(user));
});
