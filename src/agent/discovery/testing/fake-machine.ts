import type { Machine } from "../machine.ts";

export interface FakeMachine extends Machine {
  readonly files: Record<string, string>;
  /** The output of each program, by its name; all are in /usr/bin. */
  readonly programs: Record<string, string>;
  /** The programs that ran, and the files that were read. */
  readonly asked: string[];
}

/** A machine with the files and programs that a test lists. */
export function createFakeMachine(
  given: {
    readonly files?: Record<string, string>;
    readonly programs?: Record<string, string>;
    readonly env?: Machine["env"];
    readonly arch?: string;
  } = {},
): FakeMachine {
  const { files = {}, programs = {}, env = {}, arch = "x86_64" } = given;
  const asked: string[] = [];
  return {
    files,
    programs,
    asked,
    env,
    arch,
    read: async (path, bytesMax = Number.POSITIVE_INFINITY) => {
      asked.push(path);
      const text = files[path];
      return text === undefined || text.length > bytesMax ? undefined : text;
    },
    list: async (path) => {
      const inside = Object.keys(files)
        .filter((file) => file.startsWith(`${path}/`))
        .map((file) => file.slice(path.length + 1).split("/")[0] ?? "");
      return [...new Set(inside)].sort();
    },
    stamp: async (path) => files[path],
    find: async (program) => (program in programs ? `/usr/bin/${program}` : undefined),
    resolve: async (path) => path,
    run: async (path, args) => {
      asked.push([path, ...args].join(" "));
      return programs[path.replace("/usr/bin/", "")];
    },
  };
}
