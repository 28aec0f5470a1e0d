/**
 * The machine as discovery sees it: files and programs, nothing else.
 *
 * - Nothing throws: what cannot be read, is too long, takes too long or fails is not there.
 * - Nothing is claimed that is not known: there is no default for anything.
 */
export interface Machine {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** As the kernel calls it: x86_64, aarch64. */
  readonly arch: string;
  read(path: string, bytesMax?: number): Promise<string | undefined>;
  /** Names in a directory, in order. */
  list(path: string): Promise<readonly string[]>;
  /** Changes when the file does; undefined when there is none. */
  stamp(path: string): Promise<string | undefined>;
  /** The path of a program that the search path names; links are not followed. */
  find(program: string): Promise<string | undefined>;
  /** Where links lead to. */
  resolve(path: string): Promise<string | undefined>;
  /** What a program prints, on standard output and then on standard error, if it exits with 0. */
  run(path: string, args: readonly string[], bounds?: ProgramBounds): Promise<string | undefined>;
}

export interface ProgramBounds {
  readonly timeoutMs: number;
  readonly outputBytesMax: number;
}
