import type { NodeId } from "../../core/model/ids.ts";
import type { RunRef } from "../../core/state/command.ts";
import type { Attachment } from "../../gen/busbar/v1/agent_pb.ts";
import { AppError, invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { StreamPart, TerminalSize } from "../../ports/attached-run.ts";
import type { MessageInit } from "../sessions/agent-session.ts";
import type { WorkLane } from "../work/work-lane.ts";
import { toRunId } from "../work/work-lane.ts";
import { AttachWindow } from "./attach-window.ts";

/** Events that the server sends to a client. `over` is the last one. */
export interface AttachListener {
  started(inputOffset: number): void;
  part(part: StreamPart): void;
  seen(offset: number): void;
  /** Undefined: the run has ended. */
  over(error?: AppError): void;
}

/** One client, as its call sees it. Each method throws `invalid_argument` for input that a client must not send. */
export interface OpenAttachment {
  part(part: StreamPart): void;
  seen(offset: number): void;
  resize(size: TerminalSize): void;
  close(): void;
}

interface Client {
  readonly run: RunRef;
  readonly listener: AttachListener;
  /** Undefined: the run is not connected yet. */
  window: AttachWindow | undefined;
}

/** Clients of runs of one agent, in one session. */
export class AgentAttachments {
  readonly #nodeId: NodeId;
  readonly #send: (message: MessageInit) => void;
  readonly #lane: WorkLane;
  readonly #clients = new Map<number, Client>();
  #lastNumber = 0;

  constructor(nodeId: NodeId, send: (message: MessageInit) => void, lane: WorkLane) {
    this.#nodeId = nodeId;
    this.#send = send;
    this.#lane = lane;
  }

  open(
    run: RunRef,
    {
      outputOffset,
      size,
    }: { readonly outputOffset: number; readonly size?: TerminalSize | undefined },
    listener: AttachListener,
  ): OpenAttachment {
    if (this.#clients.size >= limits.attachStreamsPerAgentMax) {
      const text = `too many clients are attached to tasks of node ${this.#nodeId}; try again later`;
      throw new AppError("exhausted", text);
    }
    const number = ++this.#lastNumber;
    const client: Client = { run, listener, window: undefined };
    this.#clients.set(number, client);
    const start = { id: toRunId(run), outputOffset, ...(size && { size }) };
    this.#tell(number, { case: "start", value: start });
    return {
      part: (part) => {
        if (client.window === undefined) throw invalid("part", "came before started");
        client.window.take(part);
        if (this.#clients.has(number)) this.#lane.passInput(number, part);
      },
      seen: (value) => this.#tellOpen(number, { case: "seen", value }),
      resize: (value) => this.#tellOpen(number, { case: "size", value }),
      close: () => {
        if (!this.#clients.delete(number)) return;
        this.#lane.dropInput(number);
        this.#tell(number, { case: "over", value: {} });
      },
    };
  }

  hasClient({ jobId, index }: Pick<RunRef, "jobId" | "index">): boolean {
    return this.#clients.values().some(({ run }) => run.jobId === jobId && run.index === index);
  }

  /** Throws on messages that agents never send. */
  arrived({ number, message }: Attachment): void {
    const client = this.#clients.get(number);
    if (client === undefined) return; // the client is gone
    const { listener } = client;
    switch (message.case) {
      case "started":
        client.window = new AttachWindow(message.value.inputOffset);
        return listener.started(message.value.inputOffset);
      case "part":
        return listener.part(message.value);
      case "seen":
        client.window?.seen(message.value);
        return listener.seen(message.value);
      case "over":
        this.#clients.delete(number);
        this.#lane.dropInput(number);
        return listener.over(this.#errorOf(message.value.error));
      case "start":
      case "size":
      case undefined:
        throw invalid(
          "attachment",
          `${String(message.case)} is a message for agents, not for servers`,
        );
    }
  }

  close(error: AppError): void {
    const clients = [...this.#clients.values()];
    this.#clients.clear();
    for (const { listener } of clients) listener.over(error);
  }

  #errorOf(error: string): AppError | undefined {
    return error === "" ? undefined : new AppError("conflict", `node ${this.#nodeId}: ${error}`);
  }

  #tellOpen(number: number, message: AttachmentMessage): void {
    if (this.#clients.has(number)) this.#tell(number, message);
  }

  #tell(number: number, message: AttachmentMessage): void {
    this.#send({ case: "attachment", value: { number, message } });
  }
}

type AttachmentMessage = NonNullable<
  Extract<MessageInit, { readonly case: "attachment" }>["value"]["message"]
>;
