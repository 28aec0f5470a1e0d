import { fromBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ResourceStatus, WorkerStatusSchema } from "../../../gen/rik/v1/common_pb.ts";
import { AppError } from "../../../lib/errors.ts";
import { Subscription } from "./subscription.ts";

const { RUNNING, TERMINATED } = ResourceStatus;

/** A subscription whose reader has read a batch when `take` is called. */
function open() {
  const batches: number[] = [];
  const sentStatuses: string[] = [];
  const taken: (() => void)[] = [];
  const subscription = new Subscription(
    "web",
    {},
    {
      announce: () => undefined,
      begin: () => undefined,
      send: (frames, done) => {
        batches.push(frames.length);
        for (const frame of frames) sentStatuses.push(shown(frame));
        taken.push(done);
      },
      end: () => undefined,
      cut: () => undefined,
    },
  );
  const heard: string[] = [];
  const end = (id: string): void =>
    subscription.instance(
      id,
      "w",
      { status: TERMINATED, reason: "" },
      {
        sent: () => heard.push(`${id} sent`),
        notSent: () => heard.push(`${id} not sent`),
      },
    );
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return { subscription, batches, sentStatuses, heard, end, turn, take: () => taken.shift()?.() };
}

/** The id and the status in a frame. */
function shown(frame: Buffer): string {
  const { status } = fromBinary(WorkerStatusSchema, frame.subarray(FRAME_HEAD_BYTES));
  return status.case === "instance" ? `${status.value.instanceId} ${status.value.status}` : "";
}

const FRAME_HEAD_BYTES = 5;

describe("ends that a controller receives", () => {
  test("replace earlier statuses of the instance, and come before those of the next one of its id", async () => {
    const { subscription, sentStatuses, end, turn } = open();
    const tell = (id: string): void =>
      subscription.instance(id, "w", { status: RUNNING, reason: "" });
    tell("other");
    tell("a");
    end("a");
    tell("a");
    await turn();
    expect(sentStatuses).toEqual([`a ${TERMINATED}`, `other ${RUNNING}`, `a ${RUNNING}`]);
  });

  test("are sent when the reader has taken them", async () => {
    const { batches, heard, end, turn, take } = open();
    end("a");
    end("b");
    await turn();
    expect([batches, heard]).toEqual([[2], []]);
    take();
    expect(heard).toEqual(["a sent", "b sent"]);
  });

  test("that wait behind a batch which is not taken are not sent when the stream ends; of the batch it is unknown", async () => {
    const { subscription, heard, end, turn, take } = open();
    end("under way");
    await turn();
    end("waiting");
    subscription.instance("other", "w", { status: RUNNING, reason: "" });
    subscription.end(new AppError("exhausted", "this controller reads nothing"));
    expect(heard).toEqual(["waiting not sent"]);
    take(); // also called for frames that never left
    end("later");
    expect(heard).toEqual(["waiting not sent", "later not sent"]);
  });

  test("of one id are sent once", async () => {
    const { batches, heard, end, turn, take } = open();
    end("a");
    end("a");
    await turn();
    take();
    expect([batches, heard]).toEqual([[1], ["a sent", "a sent"]]);
  });
});
