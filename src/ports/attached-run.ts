/** Of a client's terminal. */
export interface TerminalSize {
  readonly rows: number;
  readonly columns: number;
}

/** A part of a stream of bytes, by its offset in the whole. */
export interface StreamPart {
  readonly offset: number;
  readonly data: Uint8Array;
  /** Nothing follows `data`. */
  readonly end: boolean;
}

/** What the end of a run tells its client. Nothing comes after `over`. */
export interface AttachEvents {
  /** It is connected, and has the input up to here. Comes first, after `open`. */
  started(inputOffset: number): void;
  /** Of the terminal's output. */
  part(part: StreamPart): void;
  /** The command has the input up to here. */
  seen(offset: number): void;
  /** Undefined: the run has ended, or another client has come. */
  over(error?: string): void;
}

/** The way to a run. What is sent before it is connected waits. */
export interface AttachedRun {
  /** First, once: the client has the output up to here. */
  open(outputOffset: number, size: TerminalSize | undefined): void;
  /** Of the input. */
  part(part: StreamPart): void;
  /** The client has the output up to here. */
  seen(offset: number): void;
  resize(size: TerminalSize): void;
  /** The client is gone: nothing is heard from here on. */
  close(): void;
}
