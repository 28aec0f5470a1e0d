import { closeSync, constants, openSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { describeChain } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import type { AttachedRun, AttachEvents } from "../../../../ports/attached-run.ts";
import type { Clock } from "../../../../ports/clock.ts";
import {
  AttachFrameReader,
  encodeOpen,
  encodePart,
  encodeSeen,
  encodeSize,
} from "./attach-frames.ts";

export interface AttachSocketOptions {
  readonly directory: string;
  readonly key: string;
  readonly clock: Clock;
  /** Whether the run is active: a run that has just begun may not listen yet. */
  readonly isActive: () => boolean;
}

/**
 * Connects to the program of a run. Its messages end when it does; the window of each direction bounds its memory and the bytes under way.
 */
export function openAttachSocket(options: AttachSocketOptions, events: AttachEvents): AttachedRun {
  const { clock, isActive } = options;
  const startedAtMs = clock.nowMs();
  let waiting: Buffer[] = [];
  let socket: Socket | undefined;
  let isConnected = false;
  let isOver = false;
  let cancelTimer = (): void => undefined;

  function end(error?: string): void {
    if (isOver) return;
    isOver = true;
    cancelTimer();
    socket?.destroy();
    waiting = [];
    events.over(error);
  }

  function send(bytes: Buffer): void {
    if (isOver) return;
    if (isConnected) socket?.write(bytes);
    else waiting.push(bytes);
  }

  function tryAgain(error: Error): void {
    if (!isActive()) return end();
    if (clock.nowMs() - startedAtMs > limits.attachConnectMsMax) {
      return end(`cannot connect to the task's input and terminal: ${error.message}`);
    }
    cancelTimer = clock.after(limits.attachConnectPollMs, dial);
  }

  function dial(): void {
    if (isOver) return;
    let opened: Socket;
    try {
      opened = dialIn(options.directory, options.key);
    } catch (error) {
      return tryAgain(error instanceof Error ? error : new Error(String(error)));
    }
    socket = opened;
    let failure: Error | undefined;
    const reader = new AttachFrameReader();
    opened.on("connect", () => {
      isConnected = true;
      for (const bytes of waiting.splice(0)) opened.write(bytes);
    });
    opened.on("error", (error) => (failure = error));
    opened.on("close", () => {
      if (isOver) return;
      if (isConnected) end();
      else tryAgain(failure ?? new Error("it was closed"));
    });
    opened.on("data", (bytes: Buffer) => {
      try {
        for (const frame of reader.read(bytes)) {
          if (isOver) return;
          if (frame.kind === "opened") events.started(frame.inputOffset);
          else if (frame.kind === "seen") events.seen(frame.offset);
          else events.part(frame.part);
        }
      } catch (error) {
        end(
          `the helper at the task's input and terminal sent a bad frame: ${describeChain(error)}`,
        );
      }
    });
  }

  queueMicrotask(dial);
  return {
    open: (outputOffset, size) => send(encodeOpen(outputOffset, size)),
    part: (part) => send(encodePart(part)),
    seen: (offset) => send(encodeSeen(offset)),
    resize: (size) => send(encodeSize(size)),
    close() {
      isOver = true;
      cancelTimer();
      waiting = [];
      socket?.destroy();
    },
  };
}

/** Uses the directory's descriptor number: a whole path may be too long for a socket address. */
function dialIn(directory: string, key: string): Socket {
  const fd = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  const socket = connect(`/proc/self/fd/${fd}/${key}`);
  socket.once("close", () => closeSync(fd));
  return socket;
}
