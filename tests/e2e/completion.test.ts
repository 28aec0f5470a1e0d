import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Site } from "../support/busbar.ts";
import { whyNoShells } from "../support/shells.ts";

const run = promisify(execFile);
const busbar = fileURLToPath(new URL("../../busbar", import.meta.url));
const byZsh = fileURLToPath(new URL("../support/offered-by-zsh.zsh", import.meta.url));

/** The command. The server has 0.7 s to answer, which may be short on a busy machine: it is asked again. */
const COMMAND = `#!/bin/sh
case "$*" in
  *127.0.0.1:1*) ;;
  *--values*)
    for try in 1 2 3 4 5 6 7 8 9 10; do
      found=$("${busbar}" "$@")
      if [ -n "$found" ]; then break; fi
    done
    echo "$found"
    exit ;;
esac
exec "${busbar}" "$@"
`;

const site = new Site();
const env: NodeJS.ProcessEnv = {};
let job = "";

beforeAll(async () => {
  expect(whyNoShells()).toBeUndefined();
  await site.startServer();
  await site.startAgent("rack-7");
  job = (await site.run("submit", "--quiet", "--group", "nightly", "--", "true")).stdout.trim();
  // A directory with two files, and a search path with the command.
  mkdirSync(site.path("bin"));
  mkdirSync(site.path("here"));
  writeFileSync(site.path("bin/busbar"), COMMAND, { mode: 0o755 });
  for (const name of ["alpha.yaml", "albatross.txt"]) writeFileSync(site.path(`here/${name}`), "");
  const PATH = `${site.path("bin")}:${process.env["PATH"] ?? ""}`;
  Object.assign(env, process.env, { PATH, BUSBAR_SERVER: site.server, HOME: site.directory });
  for (const shell of ["bash", "zsh", "fish"]) {
    writeFileSync(site.path(`completion.${shell}`), (await site.run("completion", shell)).stdout);
  }
});
afterAll(() => site.close());

const FILES = ["albatross.txt", "alpha.yaml"];

/** What is typed, and exactly what Tab offers. */
const lines = (): readonly (readonly [line: string, offered: readonly string[]])[] => [
  ["busbar expl", ["explain"]],
  ["busbar jo", ["job", "jobs", "jobspec"]],
  ["busbar nodes dr", ["drain"]],
  ["busbar submit --retr", ["--retries", "--retry-backoff"]],
  ["busbar nodes drain --reas", ["--reason"]],
  ["busbar jobs --state p", ["pending"]],
  ["busbar jobs -o c", ["csv"]],
  ["busbar completion f", ["fish"]],
  ["busbar job ", [job]],
  ["busbar nodes drain ", ["rack-7"]],
  ["busbar submit --node ", ["rack-7"]],
  ["busbar jobs --group night", ["nightly"]],
  ["busbar --output json job ", [job]],
  ["busbar --server 127.0.0.1:1 job ", []],
  ["busbar submit --file al", FILES],
  ["busbar submit al", FILES],
  ["busbar run -- al", FILES],
  ["busbar run -- busbar nodes al", FILES],
  ["busbar jobs al", []],
];

async function inDirectory(program: string, args: readonly string[]): Promise<string> {
  return (await run(program, args, { cwd: site.path("here"), env, timeout: 120_000 })).stdout;
}

const words = (text: string): string[] => text.split(/\s+/).filter(Boolean).toSorted();

test("fish offers commands, flags, values, what the server knows, and files", async () => {
  const script = `source ${site.path("completion.fish")}
for line in $argv
  complete -C $line | cut -f1 | tr '\\n' ' '
  echo
end`;
  const typed = lines().map(([line]) => line);
  const printed = (await inDirectory("fish", ["--no-config", "-c", script, ...typed])).split("\n");
  const offered = lines().map(([line], at) => [line, words(printed[at] ?? "")]);
  expect(offered).toEqual(lines());
});

test("zsh offers the same", async () => {
  const typed = lines().map(([line]) => line);
  const args = ["-f", byZsh, site.path("completion.zsh"), ...typed];
  const printed = (await inDirectory("zsh", args)).split("\n");
  const offered = lines().map(([line], at) => [line, words(printed[at] ?? "")]);
  expect(offered).toEqual(lines());
});

test("bash offers the same, and leaves files to its own completion", async () => {
  const script = `source ${site.path("completion.bash")}
for line; do
  read -ra COMP_WORDS <<< "$line"
  [[ $line != *' ' ]] || COMP_WORDS+=('')
  COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
  _busbar
  echo "\${COMPREPLY[*]}"
done`;
  const own = lines().map(([line, offered]) => [line, offered === FILES ? [] : offered] as const);
  const typed = own.map(([line]) => line);
  const printed = (await inDirectory("bash", ["-c", script, "bash", ...typed])).split("\n");
  const offered = own.map(([line], at) => [line, words(printed[at] ?? "")]);
  expect(offered).toEqual(own);
});
