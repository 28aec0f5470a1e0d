import { hostname } from "node:os";
import { connect } from "node:net";
import { afterEach, expect, test } from "vitest";
import { createHttpServer } from "../http-server.ts";
import { silentLogger } from "../../../../testing/silent-logger.ts";
import { createFakeOperations } from "../../testing/fake-operations.ts";
import { aJob } from "../../testing/view-builders.ts";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** fetch sets Host itself, so the request is written by hand. */
async function statusOf(
  address: string,
  headers: Readonly<Record<string, string>>,
  line = "POST /v1/jobs/1/cancel",
): Promise<number> {
  const socket = connect(Number(address.split(":").at(-1)), "127.0.0.1");
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`${line} HTTP/1.1\r\n${lines.join("")}Connection: close\r\n\r\n`);
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  return Number(text.split(" ")[1]);
}

async function serve(address: string, hostNames: readonly string[] = []) {
  const operations = createFakeOperations({ cancelJob: async (_, id) => aJob({ id }) });
  const parts = { operations, logger: silentLogger, version: "1" };
  const server = await createHttpServer({ ...parts, address, hostNames });
  closers.push(() => server.close());
  return server.address;
}

const hosts: readonly [string, string, readonly string[], number][] = [
  ["127.0.0.1:0", "localhost:7070", [], 200],
  ["127.0.0.1:0", "LOCALHOST.", [], 200],
  ["127.0.0.1:0", "127.0.0.1:1", [], 200],
  ["127.0.0.1:0", "[::1]:1", [], 200],
  ["127.0.0.1:0", "evil.example", [], 403],
  ["127.0.0.1:0", "127.0.0.1.evil.example", [], 403],
  ["127.0.0.1:0", "localhost.evil.example:7070", [], 403],
  ["127.0.0.1:0", "10.9.8.7", [], 403],
  ["127.0.0.1:0", "a b", [], 403],
  ["127.0.0.1:0", "busbar.example:80", ["busbar.example"], 200],
  ["127.0.0.1:0", "BUSBAR.example", ["busbar.example"], 200],
  ["127.0.0.1:0", "other.example", ["busbar.example"], 403],
  ["0.0.0.0:0", "localhost", [], 200],
  ["0.0.0.0:0", "127.0.0.1", [], 200],
  ["0.0.0.0:0", hostname(), [], 200],
  ["0.0.0.0:0", "evil.example", [], 403],
  ["0.0.0.0:0", "10.9.8.7", [], 403],
];
for (const [address, host, names, status] of hosts) {
  test(`at ${address}${names.length > 0 ? " with names" : ""}, Host: ${host} is ${status}`, async () => {
    expect(await statusOf(await serve(address, names), { Host: host })).toBe(status);
  });
}

const origins: readonly [string, string, number][] = [
  ["localhost:7070", "http://localhost:7070", 200],
  ["localhost:7070", "http://localhost:9999", 403],
  ["localhost:7070", "http://127.0.0.1:7070", 403],
  ["localhost", "http://localhost", 200],
  ["localhost:80", "http://localhost", 200],
  ["localhost:7070", "https://localhost:7070", 403],
  ["localhost:7070", "null", 403],
  ["busbar.example", "https://busbar.example", 200],
  ["busbar.example:8443", "https://busbar.example:8443", 200],
  ["busbar.example", "https://busbar.example:8443", 403],
];
for (const [host, origin, status] of origins) {
  test(`a page of ${origin} gets ${status} at ${host}`, async () => {
    const address = await serve("127.0.0.1:0", ["busbar.example"]);
    expect(await statusOf(address, { Host: host, Origin: origin })).toBe(status);
  });
}

test("a link to this server may be followed, but not with a request that changes something", async () => {
  const address = await serve("127.0.0.1:0");
  const link = { Host: address, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate" };
  expect(await statusOf(address, link, "GET /v1/jobs")).toBe(200);
  expect(await statusOf(address, link)).toBe(403);
});
