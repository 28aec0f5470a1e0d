/** The size of a client's terminal. */
export interface TerminalSize {
  readonly rows: number;
  readonly columns: number;
}

/** A part of a byte stream, with its offset in the whole stream. */
export interface StreamPart {
  readonly offset: number;
  readonly data: Uint8Array;
  /** Nothing follows `data`. */
  readonly end: boolean;
}

/** Events that a run sends to its client. `over` is the last one. */
export interface AttachEvents {
  /** The run is connected and has the input up to this offset. The first event after `open`. */
  started(inputOffset: number): void;
  /** A part of the terminal's output. */
  part(part: StreamPart): void;
  /** The command has the input up to this offset. */
  seen(offset: number): void;
  /** Without an error: the run has ended, or another client has attached. */
  over(error?: string): void;
}

/** The connection to a run. Messages that a client sends before the run is connected wait. */
export interface AttachedRun {
  /** The first call, made once: the client has the output up to this offset. */
  open(outputOffset: number, size: TerminalSize | undefined): void;
  /** A part of the input. */
  part(part: StreamPart): void;
  /** The client has the output up to this offset. */
  seen(offset: number): void;
  resize(size: TerminalSize): void;
  /** The client is gone: no event follows. */
  close(): void;
}
