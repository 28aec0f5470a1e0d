import { expect, test } from "vitest";
import { HTTP2 } from "../../../lib/http2/error-codes.ts";
import { FLAG, FRAME } from "../../../lib/http2/frames.ts";
import { text } from "../../../lib/http2/testing/random-encoder.ts";
import { openOwn } from "../http2/testing/own-server.ts";
import { call, frame } from "../http2/testing/raw-client.ts";
import { settle } from "../testing/settle.ts";
import { userPartToBasic } from "./basic-authorization.ts";

const AUTHORITY = 0x41; // a literal that goes into the table, named by the first known field
const withAuthority = (authority: string): Buffer =>
  Buffer.concat([Buffer.of(0x83, 0x84, 0x86, AUTHORITY), text(authority, true)]);
const BY_TABLE = Buffer.of(0x83, 0x84, 0x86, 0xbe);
const { END_HEADERS, END_STREAM, PADDED, PRIORITY } = FLAG;

const basic = (user: string): string => `Basic ${Buffer.from(user).toString("base64")}`;

/** The headers of all calls in these pieces. */
async function headersOf(pieces: readonly Buffer[]) {
  const { client, served } = openOwn(undefined, true);
  for (const piece of pieces) {
    client.send(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await settle();
  client.socket.destroy();
  return served.map(({ headers }) => ({ ...headers }));
}

const CALLS = Buffer.concat([
  frame(FRAME.HEADERS, END_HEADERS, 1, withAuthority("w:t@host:1")),
  frame(FRAME.DATA, END_STREAM, 1, Buffer.from("hello")),
  frame(FRAME.HEADERS, 0, 3, BY_TABLE.subarray(0, 1)),
  frame(FRAME.CONTINUATION, 0, 3, BY_TABLE.subarray(1, 2)),
  frame(FRAME.CONTINUATION, END_HEADERS, 3, BY_TABLE.subarray(2)),
  frame(FRAME.DATA, END_STREAM, 3),
]);
const SHOWN = {
  ":method": "POST",
  ":path": "/",
  ":scheme": "http",
  ":authority": "host:1",
  authorization: basic("w:t"),
};

test("the user part becomes Basic authentication, also in calls that refer to it by the table, however they are cut", async () => {
  expect(await headersOf([CALLS])).toEqual([SHOWN, SHOWN]);
  expect(await headersOf([...CALLS].map((byte) => Buffer.of(byte)))).toEqual([SHOWN, SHOWN]);
  for (let at = 1; at < CALLS.length; at++) {
    const pieces = [CALLS.subarray(0, at), CALLS.subarray(at)];
    expect(await headersOf(pieces)).toEqual([SHOWN, SHOWN]);
  }
});

test("the client's own header is replaced, behind padding and priority", async () => {
  const own = [Buffer.of(0x00), text("authorization", false), text(basic("x:y"), false)];
  const block = Buffer.concat([withAuthority("a%40b:t@host"), ...own]);
  const padded = Buffer.concat([Buffer.of(3, 0, 0, 0, 7, 15), block, Buffer.alloc(3)]);
  const flags = END_HEADERS | END_STREAM | PADDED | PRIORITY;
  const [headers] = await headersOf([frame(FRAME.HEADERS, flags, 5, padded)]);
  expect(headers).toMatchObject({ ":authority": "host", authorization: basic("a@b:t") });
});

test("where user parts are not read, a call with one is reset", async () => {
  const { client, served } = openOwn();
  client.read().send(call(1, { ":authority": "w:t@host" }));
  await settle();
  expect([client.resetOf(1), served]).toEqual([HTTP2.PROTOCOL_ERROR, []]);
});

test("without a user part all headers stay unchanged", () => {
  const fields = [
    { name: ":authority", value: "host:1", isSensitive: false },
    { name: "authorization", value: "Bearer a@b", isSensitive: true },
  ];
  expect(userPartToBasic(fields)).toBe(fields);
});
