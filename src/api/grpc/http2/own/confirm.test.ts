import { expect, test } from "vitest";
import { HTTP2 } from "../../../../lib/http2/error-codes.ts";
import { FLAG, FRAME } from "../../../../lib/http2/frames.ts";
import { settle } from "../../testing/settle.ts";
import { HEAD, openOwn, type OwnServer, TRAILERS } from "../testing/own-server.ts";
import { call, frame, uint32 } from "../testing/raw-client.ts";

const reset = (code: number): Buffer => frame(FRAME.RST_STREAM, 0, 1, uint32(code));
const pong = ({ client }: OwnServer): Buffer =>
  frame(FRAME.PING, FLAG.ACK, 0, client.of(FRAME.PING)[0]?.payload);

/** A call whose answer was sent completely, and whether the client has received it, as often as the stream says so. */
async function answeredCall(): Promise<OwnServer & { readonly said: readonly boolean[] }> {
  const own = openOwn();
  own.client.read().send(call(1));
  await settle();
  const { stream } = own.served[0] ?? expect.unreachable();
  stream.respond(HEAD);
  stream.end(TRAILERS, Buffer.alloc(10));
  await settle();
  expect([stream.isOpen, stream.resetCode]).toEqual([false, HTTP2.NO_ERROR]);
  const said: boolean[] = [];
  stream.confirm((isReceived) => said.push(isReceived));
  await settle();
  return { ...own, said };
}

test("an answer is received when the client answers a ping behind it, and not before", async () => {
  const own = await answeredCall();
  expect(own.said).toEqual([]);
  own.client.send(pong(own), reset(HTTP2.CANCEL));
  await settle();
  expect(own.said).toEqual([true]);
});

test("a client that resets the stream after its end has not received the answer", async () => {
  const own = await answeredCall();
  own.client.send(reset(HTTP2.CANCEL), pong(own));
  await settle();
  expect(own.said).toEqual([false]);
});

test("a reset without an error refuses nothing", async () => {
  const own = await answeredCall();
  own.client.send(reset(HTTP2.NO_ERROR), pong(own));
  await settle();
  expect(own.said).toEqual([true]);
});

test("a client that leaves without a word has received the answer", async () => {
  const own = await answeredCall();
  own.client.socket.destroy();
  await settle();
  expect(own.said).toEqual([true]);
});
