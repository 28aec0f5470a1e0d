import {
  createServer,
  get,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { until } from "../testing/rik-bed.ts";
import { send } from "./exchange.ts";

const TOTAL = 400;
const ITEM_CHARS = 200_000;

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** Serves a list of 80 MB; `made` counts its items. */
async function serveList(): Promise<{
  response: IncomingMessage;
  made: () => number;
  isOver: () => boolean;
  /** The client reads too little. */
  isFull: () => boolean;
}> {
  let [made, isOver] = [0, false];
  let sending: ServerResponse | undefined;
  function* items(): Generator<string, void> {
    for (; made < TOTAL; made++) yield "x".repeat(ITEM_CHARS);
  }
  server = createServer((_, response) => {
    sending = response;
    void send(response, { status: 200, items: items(), field: "instances" }).then(
      () => (isOver = true),
    );
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ port, host: "127.0.0.1" }, resolve).on("error", reject);
  });
  const isFull = (): boolean => sending?.writableNeedDrain === true;
  return { response, made: () => made, isOver: () => isOver, isFull };
}

test("a list is made only as fast as its client reads", async () => {
  const { response, made, isFull } = await serveList();
  response.pause();
  await until(() => expect(isFull()).toBe(true));
  // A turn makes at least one item, unless it waits for the client.
  for (let turn = 0; turn < TOTAL; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(made()).toBeLessThan(TOTAL / 2);
  let text = "";
  response.setEncoding("utf8");
  for await (const part of response) text += part as string;
  expect(made()).toBe(TOTAL);
  const { instances } = JSON.parse(text) as { instances: string[] };
  expect(instances.map(({ length }) => length)).toEqual(
    Array.from({ length: TOTAL }, () => ITEM_CHARS),
  );
});

test("a list ends with its client", async () => {
  const { response, made, isOver } = await serveList();
  response.destroy();
  await until(() => expect(isOver()).toBe(true));
  expect(made()).toBeLessThan(TOTAL);
});
