import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Client, status, type StatusObject } from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { aPlane, type TestPlane } from "../../../testing/plane.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { createGrpcConnect } from "../../../agent/link/grpc-link.ts";
import {
  AgentMessageSchema,
  Agents,
  type HelloSchema,
  type ServerMessage,
} from "../../../gen/busbar/v1/agent_pb.ts";
import { createGrpcServer, type GrpcServer } from "../../grpc/server.ts";
import { connect, openBidi } from "../../grpc/testing/grpc-client.ts";
import { agentService } from "./agent-service.ts";

let plane: TestPlane;
let server: GrpcServer;
let client: Client;

beforeEach(async () => {
  ({ plane } = await aPlane());
  const services = [agentService(plane.sessions, silentLogger)];
  server = await createGrpcServer({ address: "127.0.0.1:0", services, logger: silentLogger });
  client = connect(server.address);
});
afterEach(async () => {
  client.close();
  await server.close();
  await plane.close();
});

const helloOf = (more: MessageInitShape<typeof HelloSchema>) =>
  create(AgentMessageSchema, {
    message: { case: "hello", value: { node: "n1", agentKey: "k".repeat(32), ...more } },
  });
const goodbyeOf = ({ message }: ServerMessage): string =>
  message.case === "goodbye" ? `${message.value.reason} (retry ${message.value.retry})` : "";

/** The messages that an agent received before its stream ended, and how it ended. */
const say = (hello: MessageInitShape<typeof HelloSchema>) =>
  new Promise<{ readonly heard: readonly string[]; readonly end: StatusObject }>((resolve) => {
    const stream = openBidi(client, Agents.method.session);
    const heard: string[] = [];
    stream.on("data", (message: ServerMessage) => heard.push(goodbyeOf(message)));
    stream.on("error", () => undefined); // the status says the same
    stream.on("status", (end) => resolve({ heard, end }));
    stream.write(helloOf(hello));
  });

test.each<[string, MessageInitShape<typeof HelloSchema>, RegExp]>([
  ["node", { node: "a\u001b[31m" }, /^hello\.node: .* is not a name/],
  ["capacity", { capacity: { "a\nb": 5 } }, /^hello\.capacity: /],
  ["labels", { labels: { "a b": "x" } }, /^hello\.labels: /],
  ["agent_key", { agentKey: "short" }, /^hello\.agent_key: /],
])(
  "a Hello with a bad %s ends with the field and the reason, not with OK",
  async (_, hello, why) => {
    const { heard, end } = await say(hello);
    expect(end.code).toBe(status.INVALID_ARGUMENT);
    expect(end.details).toMatch(why);
    expect(heard).toEqual([`${end.details} (retry false)`]);
  },
);

test("a name that another agent has ends with PERMISSION_DENIED", async () => {
  const first = openBidi(client, Agents.method.session);
  const welcomed = new Promise((heard) => first.once("data", heard));
  first.on("error", () => undefined);
  first.write(helloOf({}));
  await welcomed;
  const { heard, end } = await say({ agentKey: "another".repeat(5) });
  expect(end.code).toBe(status.PERMISSION_DENIED);
  expect(heard).toEqual([expect.stringMatching(/^node n1 belongs to another agent.*retry false/)]);
  first.cancel();
});

test("an agent receives the reason before its link ends", async () => {
  const heard: string[] = [];
  await new Promise<void>((over) => {
    const link = createGrpcConnect(server.address)({
      onMessage: (message) => heard.push(goodbyeOf(message)),
      onClose: (reason) => {
        heard.push(reason);
        over();
      },
    });
    link.send(helloOf({ node: "-" }));
  });
  expect(heard).toEqual([
    expect.stringMatching(/^hello\.node: "-" is not a name.*\(retry false\)$/),
    expect.stringMatching(/INVALID_ARGUMENT.*hello\.node/),
  ]);
});
