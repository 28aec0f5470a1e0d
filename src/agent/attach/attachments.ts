import type { Attachment } from "../../gen/busbar/v1/agent_pb.ts";
import { describeChain, invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { AttachedRun, StreamPart } from "../../ports/attached-run.ts";
import type { Executor } from "../../ports/executor.ts";
import type { OutputLane } from "../output/output-lane.ts";
import { runKey } from "../runs/run-key.ts";
import { fromWireId } from "../translate.ts";

/** The messages to the server about one client. */
type AttachmentInit = {
  readonly number: number;
  readonly message:
    | { readonly case: "started"; readonly value: { readonly inputOffset: number } }
    | { readonly case: "part"; readonly value: StreamPart }
    | { readonly case: "seen"; readonly value: number }
    | { readonly case: "over"; readonly value: { readonly error: string } };
};

interface Attached {
  readonly key: string;
  readonly run: AttachedRun;
  isOver: boolean;
}

const PART_BYTES = 24; // about, of a message apart from its data

/**
 * The clients of this agent's runs, in one session. It passes messages on and buffers nothing: the windows of both ends bound the bytes
 * under way. Output goes after everything else, like requested outputs.
 */
export class Attachments {
  readonly #executor: Executor;
  readonly #lane: OutputLane;
  readonly #tell: (message: {
    readonly case: "attachment";
    readonly value: AttachmentInit;
  }) => void;
  readonly #byNumber = new Map<number, Attached>();

  constructor(
    executor: Executor,
    lane: OutputLane,
    tell: (message: { readonly case: "attachment"; readonly value: AttachmentInit }) => void,
  ) {
    this.#executor = executor;
    this.#lane = lane;
    this.#tell = tell;
  }

  /** Throws on messages that the server never sends. */
  serve({ number, message }: Attachment): void {
    if (message.case === "start") {
      const { id, outputOffset, size } = message.value;
      this.#start(
        number,
        runKey(fromWireId(id)),
        (run) => run.open(offset(outputOffset), size),
        id,
      );
      return;
    }
    const attached = this.#byNumber.get(number);
    if (attached === undefined) return; // the attachment had ended when the server sent this
    switch (message.case) {
      case "part":
        return attached.run.part(message.value);
      case "seen":
        return attached.run.seen(offset(message.value));
      case "size":
        return attached.run.resize(message.value);
      case "over":
        attached.isOver = true;
        this.#byNumber.delete(number);
        return attached.run.close();
      case "started":
      case undefined:
        throw invalid(
          "attachment",
          `${String(message.case)} is a message for servers, not for agents`,
        );
    }
  }

  /** The session has ended; the runs wait for their clients to come back. */
  close(): void {
    for (const attached of this.#byNumber.values()) {
      attached.isOver = true;
      attached.run.close();
    }
    this.#byNumber.clear();
  }

  #start(
    number: number,
    key: string,
    open: (run: AttachedRun) => void,
    id: Parameters<typeof fromWireId>[0],
  ): void {
    if (this.#byNumber.size >= limits.attachStreamsPerAgentMax) {
      return this.#over(number, "too many clients are attached to tasks of this node");
    }
    for (const [older, attached] of this.#byNumber) {
      if (attached.key !== key) continue;
      attached.run.close();
      this.#end(older, attached, "another client attached to this task");
    }
    let attached: Attached | undefined;
    try {
      const run = this.#attach(id, number, () => attached);
      attached = { key, run, isOver: false };
      this.#byNumber.set(number, attached);
      open(run);
    } catch (error) {
      this.#over(number, describeChain(error));
    }
  }

  #attach(
    id: Parameters<typeof fromWireId>[0],
    number: number,
    self: () => Attached | undefined,
  ): AttachedRun {
    if (this.#executor.attach === undefined)
      throw new Error("this agent cannot attach clients to tasks");
    return this.#executor.attach(fromWireId(id), {
      started: (inputOffset) =>
        this.#send({ number, message: { case: "started", value: { inputOffset } } }),
      seen: (value) => this.#send({ number, message: { case: "seen", value } }),
      part: (part) => this.#sendPart(number, part, self()),
      over: (error) => {
        const attached = self();
        if (attached !== undefined) this.#end(number, attached, error);
      },
    });
  }

  #sendPart(number: number, part: StreamPart, attached: Attached | undefined): void {
    void this.#lane.whenRoom(() => {
      if (attached?.isOver !== false) return 0;
      this.#send({ number, message: { case: "part", value: part } });
      return part.data.length + PART_BYTES;
    });
  }

  /** Sent after the parts that are on their way. */
  #end(number: number, attached: Attached, error = ""): void {
    this.#byNumber.delete(number);
    void this.#lane.whenRoom(() => {
      if (!attached.isOver) this.#over(number, error);
      attached.isOver = true;
      return 0;
    });
  }

  #over(number: number, error: string): void {
    this.#send({ number, message: { case: "over", value: { error } } });
  }

  #send(value: AttachmentInit): void {
    this.#tell({ case: "attachment", value });
  }
}

function offset(value: number): number {
  if (!Number.isSafeInteger(value) || value < 0) throw invalid("offset", "must be from 0");
  return value;
}
