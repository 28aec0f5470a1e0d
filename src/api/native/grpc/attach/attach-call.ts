import {
  type AttachRequest,
  type AttachResponse,
  AttachResponseSchema,
} from "../../../../gen/busbar/v1/busbar_pb.ts";
import { AttachPartSchema, AttachStartedSchema } from "../../../../gen/busbar/v1/agent_pb.ts";
import { type AppError, invalid } from "../../../../lib/errors.ts";
import type { OpenAttachment } from "../../../../server/attach/agent-attachments.ts";
import type { Operations } from "../../../../server/operations/operations.ts";
import type { BidiPeer, BidiReceiver } from "../../../grpc/calls/bidi.ts";
import { message } from "../../../grpc/calls/wire-message.ts";

type Answer = AttachResponse["message"];

/** One caller of Attach, from its first message to its end. */
export function attachCall(
  operations: Operations,
  peer: BidiPeer<AttachResponse>,
): BidiReceiver<AttachRequest> {
  let attached: OpenAttachment | undefined;
  let isOpening = false;
  let isOver = false;
  const send = (answer: Answer): void =>
    peer.send(message(AttachResponseSchema, { message: answer }));

  async function open(request: AttachRequest["message"]): Promise<void> {
    if (request.case !== "open") throw invalid("message", "the first must be open");
    isOpening = true;
    const { taskId, attempt, outputOffset, size } = request.value;
    const opened = await operations.attach(
      { taskId, attempt, outputOffset, size },
      {
        started: (inputOffset) =>
          send({ case: "started", value: message(AttachStartedSchema, { inputOffset }) }),
        part: ({ offset, data, end }) =>
          send({ case: "part", value: message(AttachPartSchema, { offset, data, end }) }),
        seen: (value) => send({ case: "seen", value }),
        over: (error?: AppError) => (error === undefined ? peer.close() : peer.fail(error)),
      },
    );
    attached = opened;
    if (isOver) opened.close();
  }

  return {
    message({ message: request }) {
      if (!isOpening) return open(request);
      switch (request.case) {
        case "part":
          return attached?.part(request.value);
        case "seen":
          return attached?.seen(request.value);
        case "size":
          return attached?.resize(request.value);
        case "open":
          throw invalid("open", "comes once, first");
        case undefined:
          throw invalid("message", "is empty");
      }
    },
    closed() {
      isOver = true;
      attached?.close();
    },
  };
}
