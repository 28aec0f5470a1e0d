/**
 * The machine as discovery sees it: files and programs, nothing else.
 *
 * - Nothing throws: a file or program that is unreadable, too long, too slow or fails counts as missing.
 * - Discovery reports only known facts: there are no defaults.
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
  /** The output of a program, standard output and then standard error, if it exits with 0. */
  run(path: string, args: readonly string[], bounds?: ProgramBounds): Promise<string | undefined>;
}

export interface ProgramBounds {
  readonly timeoutMs: number;
  readonly outputBytesMax: number;
}
