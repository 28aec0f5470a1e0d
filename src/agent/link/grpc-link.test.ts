import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { ServerDuplexStream } from "@grpc/grpc-js";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../testing/eventually.ts";
import { Relay } from "../../testing/relay.ts";
import { AgentMessageSchema, EndCause, ServerMessageSchema } from "../../gen/busbar/v1/agent_pb.ts";
import type { AgentMessage, ServerMessage } from "../../gen/busbar/v1/agent_pb.ts";
import { createGrpcConnect, decodeServerMessage } from "./grpc-link.ts";
import { runAgent } from "../run-agent.ts";
import { toAgentMessage } from "../translate.ts";
import { silentLogger } from "../../testing/silent-logger.ts";
import { createSystemClock } from "../../system/clock.ts";

type Peer = ServerDuplexStream<AgentMessage, Buffer>;

/** A real gRPC server whose messages are raw bytes, so that it can send invalid ones. */
let server: Server;
let address: string;
let onSession: (peer: Peer) => void;
const peers: Peer[] = [];

beforeEach(async () => {
  server = new Server();
  server.addService(
    {
      session: {
        path: "/busbar.v1.Agents/Session",
        requestStream: true,
        responseStream: true,
        requestSerialize: (message: AgentMessage) =>
          Buffer.from(toBinary(AgentMessageSchema, message)),
        requestDeserialize: (bytes: Buffer) => fromBinary(AgentMessageSchema, bytes),
        responseSerialize: (bytes: Buffer) => bytes,
        responseDeserialize: (bytes: Buffer) => bytes,
      },
    },
    {
      session: (peer: Peer) => {
        peers.push(peer);
        peer.on("error", () => undefined);
        onSession(peer);
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  address = `127.0.0.1:${port}`;
});
afterEach(() => {
  peers.length = 0;
  server.forceShutdown();
});

type Init = NonNullable<Parameters<typeof create<typeof ServerMessageSchema>>[1]>["message"];

const bytesOf = (message: NonNullable<Init>): Buffer =>
  Buffer.from(toBinary(ServerMessageSchema, create(ServerMessageSchema, { message })));

function dial(server = address) {
  const messages: ServerMessage[] = [];
  const closes: string[] = [];
  const link = createGrpcConnect(server)({
    onMessage: (message) => messages.push(message),
    onClose: (reason) => closes.push(reason),
  });
  return { link, messages, closes };
}

describe("the gRPC link", () => {
  test("carries messages both ways, and close ends the stream for the server", async () => {
    const received: AgentMessage[] = [];
    let ended = false;
    onSession = (peer) => {
      peer.on("data", (message: AgentMessage) => received.push(message));
      peer.on("end", () => {
        ended = true;
        peer.end();
      });
      peer.write(bytesOf({ case: "ack", value: { seq: 7 } }));
    };
    const { link, messages, closes } = dial();
    link.send(toAgentMessage({ case: "heartbeat", value: {} }));
    await eventually(() => messages.length === 1 && received.length === 1, { what: "both" });
    expect(messages[0]?.message).toMatchObject({ case: "ack", value: { seq: 7 } });
    link.close();
    link.send(toAgentMessage({ case: "heartbeat", value: {} }));
    await eventually(() => ended, { what: "the server to see the end" });
    expect(closes).toEqual([]);
  });

  test("a server that ends, breaks, sends invalid or too many bytes closes the link once", async () => {
    const ways: ((peer: Peer) => void)[] = [
      (peer) => peer.end(),
      (peer) => peer.emit("error", { code: 14, details: "broken" }),
      (peer) => peer.write(Buffer.from([0xff, 0xff, 0xff])),
      (peer) => peer.write(Buffer.alloc(5 * 1024 * 1024)),
    ];
    for (const way of ways) {
      onSession = way;
      const { link, closes } = dial();
      link.send(toAgentMessage({ case: "heartbeat", value: {} }));
      await eventually(() => closes.length > 0, { what: "the close" });
      link.close();
      expect(closes.length).toBe(1);
    }
  });

  test("counts the bytes of an incomplete message", async () => {
    const relay = await Relay.start(address, { downBytesPerSecond: 100_000 });
    const script = "x".repeat(1_000_000);
    onSession = (peer) => peer.write(bytesOf({ case: "work", value: { specs: [{ script }] } }));
    const { link, messages } = dial(relay.address);
    await eventually(() => (link.bytesReceived?.() ?? 0) > 20_000, { what: "some bytes" });
    expect(messages.length).toBe(0);
    relay.set({ downBytesPerSecond: Infinity });
    await eventually(() => messages.length === 1, { what: "the message" });
    expect(link.bytesReceived?.()).toBeGreaterThan(script.length);
    link.close();
    await relay.close();
  });

  test("an address without a server closes the link, and does not throw", async () => {
    server.forceShutdown();
    const { closes, link } = dial();
    await eventually(() => closes.length === 1, { what: "the close" });
    link.close();
  });

  test("random bytes decode to a message or an error, nothing worse", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        try {
          expect(decodeServerMessage(bytes).$typeName).toBe("busbar.v1.ServerMessage");
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("runAgent", () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "busbar-agent-"));
  });
  afterEach(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  const run = (signal: AbortSignal) => {
    return runAgent(
      {
        servers: [address],
        name: "n1",
        cluster: "default",
        capacity: { cpu: 1_000 },
        labels: {},
        directory,
        clock: createSystemClock(),
        random: { fraction: () => 0, token: (bytes) => "ab".repeat(bytes) },
        logger: silentLogger,
      },
      signal,
    );
  };

  test("runs an assigned task as a process and reports its end, over a broken link", async () => {
    const ended: AgentMessage["message"][] = [];
    onSession = (peer) => {
      const isFirst = peers.length === 1;
      peer.on("data", ({ message }: AgentMessage) => {
        if (message.case === "hello") {
          expect(message.value.agentKey).toBe("ab".repeat(32));
          const value = { heartbeatIntervalMs: 1_000, serverTimeMs: 0 };
          peer.write(bytesOf({ case: "welcome", value }));
          const spec = { job: 3, script: "exit 11", killGraceMs: 100, outputLimitBytes: 10 };
          const work = { specs: [spec], starts: [{ job: 3, index: 0, attempt: 1 }] };
          if (isFirst) peer.write(bytesOf({ case: "work", value: work }));
        }
        if (message.case !== "reports") return;
        const hasEnd = message.value.events.some(({ event }) => event.case === "ended");
        if (isFirst && hasEnd) peer.end(); // without an Ack
        if (!isFirst) ended.push(message);
      });
    };
    const controller = new AbortController();
    const done = run(controller.signal);
    const [message] = await eventually(() => ended.length > 0 && ended, { what: "the end again" });
    expect(message).toMatchObject({
      case: "reports",
      value: {
        seq: 1,
        events: [{ event: { case: "ended", value: { cause: EndCause.EXITED, exitCode: 11 } } }],
      },
    });
    controller.abort();
    await done;
  });

  test("a final Goodbye is thrown, and the directory is free again", async () => {
    onSession = (peer) => {
      const value = { reason: "unknown key", retry: false };
      peer.write(bytesOf({ case: "goodbye", value }));
    };
    for (let time = 0; time < 2; time += 1) {
      await expect(run(new AbortController().signal)).rejects.toMatchObject({
        code: "permission_denied",
      });
    }
  });
});

test("a link to the REST port ends with a reason that names the right port", async () => {
  const http = createServer((_, answer) => answer.end("hello"));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  try {
    const reason = await new Promise<string>((onClose) =>
      createGrpcConnect(`127.0.0.1:${port}`)({ onMessage: () => undefined, onClose }),
    );
    expect(reason).toMatch(/^it answers, but not with gRPC; agents connect to the gRPC port/);
  } finally {
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  }
});

test("a link to a port where nobody listens ends with the reason, once", async () => {
  const reason = await new Promise<string>((onClose) =>
    createGrpcConnect("127.0.0.1:1")({ onMessage: () => undefined, onClose }),
  );
  expect(reason).toBe("connect ECONNREFUSED 127.0.0.1:1");
});
