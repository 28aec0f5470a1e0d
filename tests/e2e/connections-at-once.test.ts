import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Site } from "../support/busbar.ts";
import { eventually } from "../../src/testing/eventually.ts";

const command = fileURLToPath(new URL("../../busbar", import.meta.url));
const ANY_PORT = "127.0.0.1:0";
const CONNECTIONS = 1_500; // Node's default backlog is 511
const DESCRIPTORS = 600; // of which 256 are reserved, and 86 guaranteed to the other port
const HELD = 600 - 256 - 86;

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
  let connected = 0;
  for (let at = 0; at < CONNECTIONS; at++) open(address).once("connect", () => connected++);
  return () => connected;
}

function open(address: string): Socket {
  const { hostname, port } = new URL(`http://${address.replace("http://", "")}`);
  const socket = connect(Number(port), hostname).on("error", () => undefined);
  sockets.push(socket);
  return socket;
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

test("a caller that holds all connections of one port leaves other ports theirs", async () => {
  const args = ["server", "--data", site.path("data"), "--http", ANY_PORT, "--grpc", ANY_PORT];
  const limited = [`--nofile=${DESCRIPTORS}`, command, ...args];
  const server = site.startProgram(limited, { program: "prlimit" });
  site.server = await server.prints(/gRPC:\s+(\S+:\d+)/);
  site.http = await server.prints(/REST:\s+(http:\S+)/);
  let closed = 0;
  for (let at = 0; at < CONNECTIONS; at++) {
    open(site.http)
      .on("close", () => closed++)
      .write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); // and keeps the connection
  }
  const held = (): number => CONNECTIONS - closed;
  await eventually(() => held() === HELD, { what: () => `${HELD} connections, not ${held()}` });
  await site.startAgent("n1");
  expect(await site.run("run", "--", "echo", "hi")).toMatchObject({ code: 0, stdout: "hi\n" });
  expect(held(), "connections that the caller still holds").toBe(HELD);
  const told = /"refused":[1-9]\d*,"connectionsMax":344,"msg":"connections refused/;
  await server.prints(told);
  for (const socket of sockets.splice(0)) socket.destroy();
  const answer = await eventually(() => fetch(`${site.http}/metrics`).catch(() => undefined), {
    what: () => "an answer over REST",
  });
  expect(await answer.text()).toMatch(/^busbar_connections_refused_total [1-9]/m);
});
