import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { eventually } from "../../testing/eventually.ts";
import { listen } from "./listener.ts";

const KEEPALIVE_TIMER = "02"; // of the column "tr" in /proc/net/tcp

/** The kernel's timers of established connections with this local port. */
function timersOf(port: number): string[] {
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = readFileSync("/proc/net/tcp", "utf8").trim().split("\n").slice(1);
  const fields = rows.map((row) => row.trim().split(/\s+/));
  const ours = fields.filter(([, at, , state]) => at?.endsWith(local) === true && state === "01");
  return ours.map((row) => row[5]?.split(":")[0] ?? "");
}

test("the kernel probes idle connections", async () => {
  let accepted = 0;
  const listener = await listen({ address: "127.0.0.1:0", flag: "--grpc" }, () => accepted++);
  const port = Number(listener.address.split(":")[1]);
  const socket = connect(port, "127.0.0.1");
  await eventually(() => accepted === 1, { what: "the connection is accepted" });
  expect(timersOf(port)).toEqual([KEEPALIVE_TIMER]);
  socket.destroy();
  listener.destroyConnections();
  await listener.stop();
});
