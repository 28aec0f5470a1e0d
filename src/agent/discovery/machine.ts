/**
 * The machine as discovery sees it: files and programs, nothing else.
 *
 * - Nothing throws: a file or program that is unreadable, too long, too slow or fails counts as missing.
 * - Discovery reports only known facts: there are no defaults.
 */
export interface Machine {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** In the kernel's words: x86_64, aarch64. */
  readonly arch: string;
  read(path: string, bytesMax?: number): Promise<string | undefined>;
  /** Names in a directory, in order. */
  list(path: string): Promise<readonly string[]>;
  /** Changes with the file; undefined when there is none. */
  stamp(path: string): Promise<string | undefined>;
  /** The path of a program on the search path; links are not followed. */
  find(program: string): Promise<string | undefined>;
  /** The path after all links. */
  resolve(path: string): Promise<string | undefined>;
  /** The output of a program, standard output and then standard error, if it exits with 0. */
  run(path: string, args: readonly string[], bounds?: ProgramBounds): Promise<string | undefined>;
}

export interface ProgramBounds {
  readonly timeoutMs: number;
  readonly outputBytesMax: number;
}
