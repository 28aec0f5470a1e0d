import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const sources = path("../rainbow-go");
const protos = path("../../../proto");
const cache = path("../../../node_modules/.cache/rainbow-go");

/** One line of what a client tells: an answer or a refusal, or something on the way there. */
export interface Line {
  readonly returned?: Readonly<Record<string, unknown>>;
  /** What the answer has that the client's generation does not know, in hex. */
  readonly unknown?: string;
  /** Without a code: it did not come to a call. */
  readonly failed?: { readonly code?: string; readonly text: string };
  /** Clusters that match what is to be submitted. */
  readonly matches?: readonly string[];
  readonly receiver?: number;
  readonly jobs?: Readonly<Record<string, string>>;
  readonly bytes?: number;
  readonly accepted?: readonly number[];
  readonly status?: string;
}

export interface Connection {
  readonly host: string;
  /** Files. Without it nothing is encrypted. */
  readonly tls?: {
    readonly ca: string;
    readonly cert?: string;
    readonly key?: string;
    /** For the connection, where it is not to be had. */
    readonly waitMs?: number;
  };
}

/** A client like rainbow's of one generation: a process for each command, which dials anew. */
export type RainbowGo = (at: Connection, command: string, args: object) => Promise<readonly Line[]>;

/** Built once from what it is made of, and kept. Fails where there is no Go, or no proxy and nothing kept. */
export async function rainbowGo(generation: "february" | "june"): Promise<RainbowGo> {
  const directory = join(cache, fingerprint());
  if (!existsSync(directory)) await build(directory);
  return async (at, command, args) => {
    const task = JSON.stringify({ ...at, do: command, with: args });
    return ask(join(directory, generation), task);
  };
}

/** Changes with every file that the programs are made of. */
function fingerprint(): string {
  const hash = createHash("sha256");
  for (const directory of [sources, join(protos, "rainbow")]) {
    for (const name of globSync("**/*.*", { cwd: directory }).toSorted()) {
      hash.update(`${name}\0`).update(readFileSync(join(directory, name)));
    }
  }
  return hash.digest("hex").slice(0, 16);
}

async function build(directory: string): Promise<void> {
  // Put in its place when it is complete: a test that is stopped leaves nothing half made.
  const making = `${directory}.${process.pid}`;
  const built = join(making, "built");
  const inside = { cwd: making, timeout: 280_000 };
  mkdirSync(cache, { recursive: true });
  try {
    cpSync(sources, making, { recursive: true });
    mkdirSync(built);
    const plugin = "google.golang.org/protobuf/cmd/protoc-gen-go";
    await run("go", ["build", "-o", "protoc-gen-go", plugin], inside);
    await generate(making, join(sources, "february"), { "february.proto": "february/pb" });
    await generate(making, protos, {
      "rainbow/v1/rainbow.proto": "june/pb",
      "rainbow/v1/memory.proto": "june/memory",
    });
    await run("go", ["build", "-o", built, "./february", "./june"], inside);
    if (!existsSync(directory)) renameSync(built, directory);
  } catch (cause) {
    throw new Error(
      "clients in Go cannot be built, which these tests drive: they need go of 1.20 or later, and " +
        "its proxy of modules once",
      { cause },
    );
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}

/** Go for these files of a directory, in the packages that are named. */
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
  await run(
    path("../../../node_modules/.bin/buf"),
    ["generate", input, "--template", template, ...only],
    { cwd: making },
  );
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
