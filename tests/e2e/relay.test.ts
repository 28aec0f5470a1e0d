import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { Relay } from "../../src/testing/relay.ts";

// Every test over a thin link depends on the relay, so it is tested itself.

let target: Server;
let accepted: Socket[];
let relay: Relay;
let received: Buffer;

beforeEach(async () => {
  accepted = [];
  received = Buffer.alloc(0);
  target = createServer((socket) => {
    accepted.push(socket);
    socket.on("error", () => undefined);
    socket.on("data", (data: Buffer) => (received = Buffer.concat([received, data])));
  });
  await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
  const at = target.address();
  if (at === null || typeof at === "string") throw new Error("no address");
  relay = await Relay.start(`127.0.0.1:${at.port}`);
});

afterEach(async () => {
  await relay.close();
  for (const socket of accepted) socket.destroy();
  target.close();
});

async function dial(): Promise<Socket> {
  const socket = connect(Number(relay.address.split(":")[1]), "127.0.0.1");
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

const bytes = (count: number): Buffer =>
  Buffer.from(Array.from({ length: count }, (_, at) => at % 251));

test("every byte arrives once and in order, also while settings change", async () => {
  relay.set({ delayMs: 30, upBytesPerSecond: 2_000_000 });
  const sent = bytes(600_000);
  const caller = await dial();
  caller.write(sent);
  await eventually(() => received.length > 100_000, { what: "some bytes" });
  relay.set({ delayMs: 0, upBytesPerSecond: Infinity });
  caller.end();
  await eventually(() => received.length === sent.length, { what: "all bytes" });
  expect(received.equals(sent)).toBe(true);
  await eventually(() => accepted[0]?.readableEnded, { what: "the end" });
});

test("a rate is the link's: two connections have half of it each", async () => {
  relay.set({ upBytesPerSecond: 100_000 });
  const callers = [await dial(), await dial()];
  for (const caller of callers) caller.write(bytes(1_000_000));
  await eventually(() => relay.carried("up") > 60_000, { what: "60 kB" });
  const shares = accepted.map((socket) => socket.bytesRead);
  for (const share of shares) expect(share / relay.carried("up")).toBeGreaterThan(0.3);
  // Neither connection was read ahead of its turn: the relay and the kernel hold back the rest.
  expect(relay.carried("up")).toBeLessThan(400_000);
  for (const caller of callers) caller.destroy();
});

test("a paused direction carries nothing while the other one does, and continues afterwards", async () => {
  const caller = await dial();
  let heard = "";
  caller.on("data", (data) => (heard += data.toString()));
  caller.write("one");
  await eventually(() => received.toString() === "one", { what: "one" });
  relay.pause("up");
  caller.write("two");
  accepted[0]?.write("down");
  await eventually(() => heard === "down", { what: "the other direction" });
  expect(received.toString()).toBe("one");
  relay.resume();
  await eventually(() => received.toString() === "onetwo", { what: "the rest" });
  caller.destroy();
});

test("a cut ends connections and refuses others until it is healed", async () => {
  const caller = await dial();
  relay.cut();
  await eventually(() => caller.destroyed, { what: "the caller to hear of it" });
  await eventually(() => accepted[0]?.destroyed, { what: "the other side to hear of it" });
  const refused = connect(Number(relay.address.split(":")[1]), "127.0.0.1");
  refused.on("error", () => undefined);
  await eventually(() => refused.destroyed, { what: "the next caller to be refused" });
  expect(relay.dials).toBe(1);
  relay.heal();
  const again = await dial();
  again.write("back");
  await eventually(() => received.toString() === "back", { what: "bytes of the new connection" });
  again.destroy();
});
