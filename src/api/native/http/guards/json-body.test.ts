import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { limits } from "../../../../limits.ts";
import type { Logger } from "../../../../ports/logger.ts";
import type { Operations } from "../../../../server/operations/operations.ts";
import { eventually } from "../../../../testing/eventually.ts";
import { silentLogger } from "../../../../testing/silent-logger.ts";
import { createCallMemory } from "../../../grpc/memory/call-memory.ts";
import { createFakeOperations } from "../../testing/fake-operations.ts";
import { createHttpServer } from "../http-server.ts";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function serve(logger: Logger = silentLogger, overrides: Partial<Operations> = {}) {
  const memory = createCallMemory();
  const parts = { operations: createFakeOperations(overrides), logger, version: "1", memory };
  const server = await createHttpServer({ ...parts, address: "127.0.0.1:0" });
  closers.push(() => server.close());
  return { address: server.address, memory };
}

test.each(["/v1/jobs", "/v1/satisfy", "/v1/clusters", "/graphql"])(
  "%s rejects a body that is not UTF-8: another text would be stored than was sent",
  async (path) => {
    const { address } = await serve();
    for (const spaces of [0, 200_000]) {
      const body = Buffer.concat([
        Buffer.from(`{"command":["rm","caf`),
        Buffer.from([0xe9]), // é in ISO 8859-1
        Buffer.from(`"]}${" ".repeat(spaces)}`),
      ]);
      const headers = { "content-type": "application/json" };
      const answer = await fetch(`http://${address}${path}`, { method: "POST", headers, body });
      expect(await answer.json()).toMatchObject({
        error: { code: "invalid_argument", message: "the body is not valid UTF-8" },
      });
    }
  },
);

test("a caller that disconnects within its body is not in the log", async () => {
  const logged: string[] = [];
  const error: Logger["error"] = (_, message) => logged.push(message);
  const { address, memory } = await serve({ ...silentLogger, error });
  const socket = post(address, '{"', 100);
  await eventually(() => memory.requests.counts.open > 0, { what: "the request began" });
  socket.destroy();
  await eventually(() => memory.requests.counts.open === 0, { what: "the request ended" });
  expect(logged).toEqual([]);
});

test("a request whose caller has left is held until its work is done, and then released", async () => {
  const long = "x".repeat(limits.smallMessageBytesMax);
  const work = Promise.withResolvers<Awaited<ReturnType<Operations["submitJobs"]>>>();
  const submitJobs = vi.fn(() => work.promise);
  const { address, memory } = await serve(silentLogger, { submitJobs });
  const body = `{"command":["a","${long}"]}`;
  const socket = post(address, body);
  await eventually(() => submitJobs.mock.calls.length > 0, { what: "the job arrived" });
  socket.destroy();
  await once(socket, "close");
  await fetch(`http://${address}/healthz`); // by then the server has noticed it
  expect(memory.requests.counts.large).toBe(body.length);
  work.resolve({ jobs: [{ id: "1", existed: false, warning: long }], revision: 1 });
  await eventually(() => memory.requests.counts.large === 0, { what: "its memory was released" });
  expect([memory.requests.counts.small, memory.answers.counts.bytes]).toEqual([0, 0]);
});

function post(address: string, body: string, announced = body.length): Socket {
  const socket = connect(Number(address.split(":")[1]), "127.0.0.1");
  const type = "Content-Type: application/json";
  socket.write(
    `POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\n${type}\r\nContent-Length: ${announced}\r\n\r\n${body}`,
  );
  return socket;
}
