import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { builtPrograms, inCopy } from "./go-programs.ts";

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const sources = path("../rainbow-go");
const protos = path("../../../proto");

/** One line of a client's output: an answer or an error, or a step before it. */
export interface Line {
  readonly returned?: Readonly<Record<string, unknown>>;
  /** Fields of the answer that the client's generation does not know, in hex. */
  readonly unknown?: string;
  /** Without a code: it made no call. */
  readonly failed?: { readonly code?: string; readonly text: string };
  /** Clusters that match the job to submit. */
  readonly matches?: readonly string[];
  readonly receiver?: number;
  readonly jobs?: Readonly<Record<string, string>>;
  readonly bytes?: number;
  readonly accepted?: readonly number[];
  readonly status?: string;
}

export interface Connection {
  readonly host: string;
  /** Files. Absent: no TLS. */
  readonly tls?: {
    readonly ca: string;
    readonly cert?: string;
    readonly key?: string;
    /** The time limit of the connection, where it must fail. */
    readonly waitMs?: number;
  };
}

/** A client like rainbow's of one generation: a process with its own connection for each command. */
export type RainbowGo = (at: Connection, command: string, args: object) => Promise<readonly Line[]>;

export async function rainbowGo(generation: "february" | "june"): Promise<RainbowGo> {
  const directory = await builtPrograms({
    name: "rainbow-go",
    sources,
    packages: ["february", "june"],
    generated: { from: [join(protos, "rainbow")], make: generateAll },
  });
  return async (at, command, args) => {
    const task = JSON.stringify({ ...at, do: command, with: args });
    return ask(join(directory, generation), task);
  };
}

async function generateAll(making: string): Promise<void> {
  const plugin = "google.golang.org/protobuf/cmd/protoc-gen-go";
  await inCopy(making, "go", ["build", "-o", "protoc-gen-go", plugin]);
  await generate(making, join(sources, "february"), { "february.proto": "february/pb" });
  await generate(making, protos, {
    "rainbow/v1/rainbow.proto": "june/pb",
    "rainbow/v1/memory.proto": "june/memory",
  });
}

/** Generates Go for these files of a directory, in the named packages. */
async function generate(
  making: string,
  input: string,
  packages: Readonly<Record<string, string>>,
): Promise<void> {
  const opt = Object.entries(packages).map(([file, name]) => `M${file}=rainbow-go/${name}`);
  const plugin = { local: join(making, "protoc-gen-go"), out: making };
  const plugins = [{ ...plugin, opt: ["module=rainbow-go", ...opt] }];
  const template = JSON.stringify({ version: "v2", plugins });
  const only = Object.keys(packages).flatMap((file) => ["--path", join(input, file)]);
  const buf = path("../../../node_modules/.bin/buf");
  await inCopy(making, buf, ["generate", input, "--template", template, ...only]);
}

async function ask(program: string, task: string): Promise<readonly Line[]> {
  const child = spawn(program, { env: { ...process.env, no_proxy: "*" }, timeout: 100_000 });
  child.stdin.end(task);
  const over = once(child, "close");
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = (await over) as [number | null];
  if (code !== 0 || stderr !== "") throw new Error(`the client failed: ${code} ${stderr}`);
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);
}
