import type { OpenStream } from "../../../client/call.ts";
import type { AttachRequestInit, AttachResponse } from "../../../client/messages.ts";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { InputSource, Terminal } from "../../context.ts";
import type { Session } from "../../session.ts";
import { InputWindow } from "./input-window.ts";

const CTRL_C = 3;
const EXIT_INTERRUPTED = 130;
/** The command acknowledges the terminal's output after so many bytes, and whenever all of it was written. */
const SEEN_EVERY = limits.attachWindowBytes / 8;
/** The pause before it reconnects to a run that closed its connection by itself. */
const AGAIN_MS = 1_000;

export interface AttachmentOptions {
  readonly source: InputSource;
  /** Undefined: only standard input is passed on. */
  readonly terminal: Terminal | undefined;
  /** The task can no longer be served. */
  readonly onFailure: (problem: string) => void;
  /** The output cannot be written. */
  readonly onUnwritable: (error: unknown) => void;
}

/**
 * This command as the standard input, or the terminal, of its task: across lost connections, restarts of the server and of the agent. The
 * two ends are this command and the run: each buffers what the other has not received, at most a window.
 */
export class Attachment {
  readonly #session: Session;
  readonly #options: AttachmentOptions;
  readonly #input = new InputWindow();
  readonly #stop = new AbortController();
  #run: { readonly taskId: string; readonly attempt: number } | undefined;
  #stream: OpenStream<AttachRequestInit> | undefined;
  /** The run is connected. */
  #isConnected = false;
  #isReading = false;
  #isRaw = false;
  #hasToldLoss = false;
  #delayMs: number = limits.reconnectDelayMsMin;
  /** Offsets of the terminal's output: received, and acknowledged. */
  #received = 0;
  #answered = 0;
  #isOutputComplete = false;
  #writing: Promise<void> = Promise.resolve();
  #undoResize = (): void => undefined;
  #wakeFinish = (): void => undefined;

  constructor(session: Session, options: AttachmentOptions) {
    this.#session = session;
    this.#options = options;
  }

  /** An attempt at the task runs. */
  begin(taskId: string, attempt: number): void {
    if (this.#stop.signal.aborted) return;
    this.#stream?.cancel();
    this.#run = { taskId, attempt };
    [this.#received, this.#answered, this.#isOutputComplete] = [0, 0, false];
    void this.#connect();
  }

  /** The job has ended: resolves when the rest of the terminal's output was written, or does not arrive. */
  async finish(): Promise<void> {
    if (this.#options.terminal !== undefined && this.#run !== undefined && this.#isRaw) {
      const complete = new Promise<void>((resolve) => (this.#wakeFinish = resolve));
      const late = this.#session.context.sleep(limits.attachEndMsMax, this.#stop.signal);
      if (!this.#isOutputComplete) await Promise.race([complete, late]);
      await this.#writing;
    }
    this.close();
  }

  close(): void {
    this.#stop.abort();
    this.#stream?.cancel();
    this.#undoResize();
    this.#setRaw(false);
    this.#options.source.close();
  }

  async #connect(): Promise<void> {
    const client = await this.#session.client();
    if (this.#stop.signal.aborted || this.#run === undefined) return;
    const { taskId, attempt } = this.#run;
    const size = this.#options.terminal?.size();
    const stream = client.attach({
      onMessage: ({ message }) => {
        if (this.#stream === stream) this.#heard(message);
      },
      onEnd: (error) => {
        if (this.#stream === stream) this.#lost(error);
      },
    });
    this.#stream = stream;
    const open = { taskId, attempt, outputOffset: this.#received, ...(size && { size }) };
    stream.send({ message: { case: "open", value: open } });
  }

  #heard(message: AttachResponse["message"]): void {
    if (message.case === "started") return this.#started(message.value.inputOffset);
    if (message.case === "part") return this.#show(message.value);
    if (message.case !== "seen") return;
    this.#input.seen(message.value);
    this.#sendInput();
    void this.#read();
  }

  #started(inputOffset: number): void {
    if (!this.#input.resume(inputOffset)) {
      return this.#options.onFailure("the input cannot be repeated for another attempt");
    }
    this.#isConnected = true;
    this.#delayMs = limits.reconnectDelayMsMin;
    if (this.#hasToldLoss) void this.#note("connected again");
    this.#hasToldLoss = false;
    this.#enterTerminal();
    this.#sendInput();
    void this.#read();
  }

  #enterTerminal(): void {
    const { terminal } = this.#options;
    if (terminal === undefined || this.#isRaw) return;
    this.#setRaw(true);
    this.#undoResize = this.#session.context.onResize(() => {
      if (this.#isConnected) this.#send({ case: "size", value: terminal.size() });
    });
  }

  /** One read at a time, and none while the task has too much unread input. */
  async #read(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      while (this.#input.hasRoom && !this.#stop.signal.aborted) {
        const data = await this.#options.source.read();
        if (this.#stop.signal.aborted) return;
        if (data === undefined) this.#input.end();
        else if (this.#isConnected || this.#options.terminal === undefined) this.#input.push(data);
        else this.#typedAlone(data);
        this.#sendInput();
      }
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#options.onFailure(AppError.from(error, "read standard input").message);
    } finally {
      this.#isReading = false;
    }
  }

  /** Keys while no task is connected: Ctrl-C ends the command, others are lost. */
  #typedAlone(data: Uint8Array): void {
    if (!data.includes(CTRL_C)) return;
    this.#setRaw(false);
    this.#session.context.exitNow(EXIT_INTERRUPTED);
  }

  #sendInput(): void {
    while (this.#isConnected) {
      const part = this.#input.take();
      if (part === undefined) return;
      this.#send({ case: "part", value: part });
    }
  }

  #show({ offset, data, end }: { offset: number; data: Uint8Array; end: boolean }): void {
    if (offset !== this.#received) return; // it came before this connection knew the buffered input
    this.#received += data.length;
    const { stdout } = this.#session.context;
    const until = this.#received;
    this.#writing = this.#writing
      .then(() => stdout.write(data))
      .then(() => this.#answer(until, end))
      .catch((error: unknown) => this.#options.onUnwritable(error));
    if (!end) return;
    this.#isOutputComplete = true;
    this.#wakeFinish();
  }

  #answer(until: number, isEnd: boolean): void {
    const isDue = until - this.#answered >= SEEN_EVERY || until === this.#received;
    if (!this.#isConnected || (!isDue && !isEnd)) return;
    this.#answered = until;
    this.#send({ case: "seen", value: until });
  }

  #lost(error: AppError | undefined): void {
    this.#isConnected = false;
    this.#stream = undefined;
    if (this.#stop.signal.aborted || this.#isOutputComplete) return;
    const code = error?.code;
    if (code === "unavailable" || code === "exhausted") {
      void this.#tellLoss(error?.message ?? "");
      void this.#connectIn(this.#delayMs);
      this.#delayMs = Math.min(this.#delayMs * 2, limits.reconnectDelayMsMax);
    } else if (code === undefined || code === "conflict") {
      // The run is over, which the job's event will show soon; or it is not, and the command reconnects.
      if (error !== undefined) void this.#noteIn(AGAIN_MS, error.message);
      else void this.#connectIn(AGAIN_MS);
    } else {
      this.#options.onFailure(error?.message ?? "");
    }
  }

  async #connectIn(delayMs: number): Promise<void> {
    const run = this.#run;
    await this.#session.context.sleep(delayMs, this.#stop.signal);
    if (run === this.#run && this.#stream === undefined) await this.#connect();
  }

  async #noteIn(delayMs: number, message: string): Promise<void> {
    await this.#session.context.sleep(delayMs, this.#stop.signal);
    if (!this.#stop.signal.aborted) await this.#note(message);
  }

  async #tellLoss(why: string): Promise<void> {
    if (this.#hasToldLoss) return;
    this.#hasToldLoss = true;
    const how = this.#isRaw ? "; Ctrl-C leaves" : "";
    await this.#note(`lost the connection to the task: ${why}; trying again${how}`);
    void this.#read();
  }

  /** A raw terminal does not return to its first column by itself. */
  async #note(message: string): Promise<void> {
    const { stderr } = this.#session.context;
    if (this.#isRaw) await stderr.write("\r\n");
    await this.#session.note(message);
    if (this.#isRaw) await stderr.write("\r");
  }

  #setRaw(isRaw: boolean): void {
    if (isRaw === this.#isRaw) return;
    this.#isRaw = isRaw;
    this.#options.terminal?.setRaw(isRaw);
  }

  #send(message: AttachRequestInit["message"] & object): void {
    this.#stream?.send({ message });
  }
}
