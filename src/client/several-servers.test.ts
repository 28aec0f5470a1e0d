import { createServer, type Server } from "node:net";
import { afterEach, expect, test } from "vitest";
import { createMovingClient, firstAnswering } from "./several-servers.ts";

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) server.close();
});

async function listening(): Promise<string> {
  const server = createServer((socket) => socket.destroy());
  open.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `127.0.0.1:${(server.address() as { port: number }).port}`;
}

async function nobody(): Promise<string> {
  const address = await listening();
  await new Promise((resolve) => open.pop()?.close(resolve));
  return address;
}

test("the client uses the first address that accepts a connection; when none does, the error names all", async () => {
  const [gone, there, also] = [await nobody(), await listening(), await listening()];
  expect(await firstAnswering([gone, there, also])).toBe(there);
  const other = await nobody();
  await expect(firstAnswering([gone, other])).rejects.toThrow(
    new RegExp(`no server answers: ${gone} .*ECONNREFUSED.*; ${other} `),
  );
});

test("after a call that reached no server, a client moves on to the next address", async () => {
  const [a, b] = [await nobody(), await nobody()];
  const client = createMovingClient([a, b]);
  const messages: string[] = [];
  for (let count = 0; count < 3; count++) {
    await client
      .getStats({}, { timeoutMs: 5_000 })
      .catch((error: Error) => messages.push(error.message));
  }
  client.close();
  expect(messages.map((message) => [a, b].find((address) => message.includes(address)))).toEqual([
    a,
    b,
    a,
  ]);
});
