import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { jobId, nodeId } from "../../core/model/ids.ts";
import { AttachmentSchema, type ServerMessage } from "../../gen/busbar/v1/agent_pb.ts";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { FakeClock } from "../../testing/fake-clock.ts";
import { type MessageInit, toServerMessage } from "../sessions/agent-session.ts";
import { PackedSpecs } from "../work/packed-specs.ts";
import { WorkLane } from "../work/work-lane.ts";
import { AgentAttachments } from "./agent-attachments.ts";

const RUN = { jobId: jobId(1), index: 0, attempt: 1 };
type Said = Extract<ServerMessage["message"], { case: "attachment" }>["value"];

function anAgent({ encodings = ["gzip"] } = {}) {
  const sent: Said[] = [];
  let marks = 0;
  const send = (init: MessageInit): void => {
    const { message } = toServerMessage(init);
    if (message.case === "attachment") sent.push(message.value);
    if (message.case === "mark") marks = message.value.number;
  };
  const parts = { $typeName: "busbar.v1.Parts", encodings, heldSpecs: [] } as const;
  const clock = new FakeClock();
  const lane = new WorkLane({
    send,
    clock,
    parts: { ...parts, encodings: [...encodings], heldSpecs: [] },
    packedSpecs: new PackedSpecs(),
    reader: "node",
  });
  const attachments = new AgentAttachments(nodeId("w1"), send, lane);
  const heard: unknown[] = [];
  const listener = {
    started: (offset: number) => heard.push(["started", offset]),
    part: ({ offset, data }: { offset: number; data: Uint8Array }) =>
      heard.push(["part", offset, Buffer.from(data).toString()]),
    seen: (offset: number) => heard.push(["seen", offset]),
    over: (error?: AppError) => heard.push(["over", error?.code]),
  };
  const open = () => attachments.open(RUN, { outputOffset: 0 }, listener);
  const arrive = (number: number, message: MessageInitShape<typeof AttachmentSchema>["message"]) =>
    attachments.arrived(
      create(AttachmentSchema, { number, message: message ?? { case: undefined } }),
    );
  const inputBytes = (): number =>
    sent.reduce((sum, { message }) => {
      return sum + (message.case === "part" ? message.value.data.length : 0);
    }, 0);
  const returnMarks = (): void => {
    for (let before = -1; before !== marks;) {
      before = marks;
      lane.markReturned(marks);
      lane.flush();
    }
  };
  return { attachments, open, arrive, sent, heard, inputBytes, returnMarks };
}

test("input goes to the agent once the run is connected, and output goes to the client", () => {
  const { open, arrive, sent, heard } = anAgent();
  const client = open();
  expect(sent[0]?.message).toMatchObject({ case: "start", value: { id: { job: 1, attempt: 1 } } });
  const data = Buffer.from("abc");
  expect(() => client.part({ offset: 0, data, end: false })).toThrow("part: came before started");
  arrive(1, { case: "started", value: { inputOffset: 5 } });
  client.part({ offset: 5, data, end: true });
  arrive(1, { case: "seen", value: 8 });
  arrive(1, { case: "part", value: { offset: 0, data: Buffer.from("out") } });
  arrive(1, { case: "over", value: { error: "" } });
  expect(sent.at(-1)?.message).toMatchObject({ case: "part", value: { offset: 5, end: true } });
  expect(heard).toEqual([
    ["started", 5],
    ["seen", 8],
    ["part", 0, "out"],
    ["over", undefined],
  ]);
  arrive(1, { case: "seen", value: 9 }); // too late: no client receives it
  expect(heard).toHaveLength(4);
});

test("rejects a client that sends more than its window, or with a gap, or after its end", () => {
  const { open, arrive } = anAgent();
  const client = open();
  arrive(1, { case: "started", value: { inputOffset: 0 } });
  const data = new Uint8Array(limits.attachPartBytesMax);
  let offset = 0;
  const more = (): void => {
    client.part({ offset, data, end: false });
    offset += data.length;
  };
  while (offset < limits.attachWindowBytes) more();
  expect(more).toThrow("bytes are unacknowledged: wait for seen");
  arrive(1, { case: "seen", value: data.length });
  more();
  expect(more).toThrow("wait for seen");
  expect(() => client.part({ offset: offset + 1, data, end: false })).toThrow(
    "part.offset: must be",
  );
  const large = new Uint8Array(limits.attachPartBytesMax + 1);
  expect(() => client.part({ offset, data: large, end: false })).toThrow("in one message");
  client.part({ offset, data: new Uint8Array(0), end: true });
  expect(() => client.part({ offset, data, end: false })).toThrow("came after the end");
});

test("input waits for the link, goes in parts that fit it, and is dropped with its client", () => {
  const { open, arrive, inputBytes, returnMarks, sent } = anAgent();
  const client = open();
  arrive(1, { case: "started", value: { inputOffset: 0 } });
  const data = new Uint8Array(limits.attachPartBytesMax);
  client.part({ offset: 0, data, end: false });
  client.part({ offset: data.length, data, end: false });
  const first = inputBytes();
  expect(first).toBeLessThan(2 * limits.linkWindowBytes);
  returnMarks();
  expect(inputBytes()).toBeGreaterThan(first);
  client.close();
  const closed = inputBytes();
  returnMarks();
  expect(inputBytes()).toBe(closed);
  expect(sent.at(-1)?.message.case).toBe("over");
});

test("an agent has a bounded number of clients, and the end of its session ends all of them", () => {
  const { attachments, open, heard } = anAgent();
  for (let count = 0; count < limits.attachStreamsPerAgentMax; count++) open();
  expect(open).toThrow("too many clients are attached to tasks of node w1");
  attachments.close(new AppError("unavailable", "gone"));
  expect(heard).toHaveLength(limits.attachStreamsPerAgentMax);
  expect(new Set(heard.map(String))).toEqual(new Set(["over,unavailable"]));
  expect(open).not.toThrow();
});
