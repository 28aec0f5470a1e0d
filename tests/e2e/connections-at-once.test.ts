import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Site } from "../support/busbar.ts";
import { eventually } from "../../src/testing/eventually.ts";

const CONNECTIONS = 1_500; // Node's default backlog is 511

let site: Site;
const sockets: Socket[] = [];
beforeEach(() => {
  site = new Site();
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await site.close();
});

/** The kernel accepts them for a busy server. Returns the number of accepted ones. */
function connectAll(address: string): () => number {
  const { hostname, port } = new URL(`http://${address.replace("http://", "")}`);
  let connected = 0;
  for (let at = 0; at < CONNECTIONS; at++) {
    const socket = connect(Number(port), hostname, () => connected++);
    sockets.push(socket.on("error", () => undefined));
  }
  return () => connected;
}

test("clients that connect at once while the server is busy are not refused", async () => {
  const most = Number(readFileSync("/proc/sys/net/core/somaxconn", "utf8"));
  expect(most, "this machine's net.core.somaxconn").toBeGreaterThan(CONNECTIONS);
  const server = await site.startServer();
  server.child.kill("SIGSTOP");
  for (const address of [site.server, site.http]) {
    const connected = connectAll(address);
    await eventually(() => connected() === CONNECTIONS, {
      what: () => `${CONNECTIONS} connections to ${address}, not ${connected()}`,
      timeoutMs: 5_000,
    });
  }
  server.child.kill("SIGCONT");
  expect(await site.json("stats")).toMatchObject({ agentSessions: 0 });
});
