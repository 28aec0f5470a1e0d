import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { encodeLaunch } from "../../../src/agent/executors/process/launchers/launch-frame.ts";
import { LAUNCHER, PERLS } from "../../../src/agent/executors/process/launchers/launcher-script.ts";

// Strings of JavaScript cannot hold every byte, so these tests write to a launcher directly.

const PRINT_ALL =
  'binmode STDOUT; print "$_\\0" for @ARGV; print "\\0"; ' +
  'print "$_=$ENV{$_}\\0" for grep { /^T/ } sort keys %ENV';

let directory: string;
let talk: Talk;

interface Talk {
  send(frame: Buffer): void;
  line(): Promise<string>;
  end(): Promise<void>;
}

function openLauncher(baseEnv: Buffer): Talk {
  const child = spawn(PERLS[0], ["-e", LAUNCHER, join(directory, "runs"), directory], {
    env: {},
    stdio: ["pipe", "pipe", "ignore"],
  });
  const head = Buffer.alloc(4);
  head.writeUInt32BE(baseEnv.length);
  child.stdin.write(Buffer.concat([head, baseEnv]));
  const lines: string[] = [];
  const waiting: ((line: string) => void)[] = [];
  let rest = "";
  child.stdout.setEncoding("latin1").on("data", (text: string) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const wake = waiting.shift();
      if (wake === undefined) lines.push(part);
      else wake(part);
    }
  });
  return {
    send: (frame) => void child.stdin.write(frame),
    line: () =>
      new Promise((resolve) => {
        const line = lines.shift();
        if (line === undefined) waiting.push(resolve);
        else resolve(line);
      }),
    end: () =>
      new Promise((resolve) => {
        child.once("close", () => resolve());
        child.stdin.end();
      }),
  };
}

/** The frame that `encodeLaunch` makes, from bytes. */
function frameOf(key: string, argv: readonly Uint8Array[], env: readonly Uint8Array[]): Buffer {
  const counts = ["", key, "", "", String(env.length), String(argv.length)];
  const parts = [...counts.map((part) => Buffer.from(part)), ...env, ...argv, Buffer.alloc(0)];
  const body = Buffer.concat(parts.flatMap((part) => [part, Buffer.alloc(1)])).subarray(0, -1);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(1, 0);
  head.writeUInt32BE(body.length, 4);
  return Buffer.concat([head, body]);
}

let count = 0;

/** Runs a program that prints its arguments and the variables that begin with T. */
async function echo(
  argv: readonly Uint8Array[],
  env: readonly Uint8Array[],
): Promise<{ argv: Buffer[]; env: Buffer[] }> {
  count += 1;
  const perl = [PERLS[0], "-e", PRINT_ALL, "--"].map((part) => Buffer.from(part));
  talk.send(frameOf(`${count}.0.1`, [...perl, ...argv], env));
  expect(await talk.line()).toMatch(/ started \d+$/);
  expect(await talk.line()).toMatch(/ exit 0$/);
  const output = readFileSync(join(directory, "runs", `${count}.0.1`, "stdout"));
  const parts = splitAtNul(output);
  return { argv: parts.slice(0, argv.length), env: parts.slice(argv.length + 1) };
}

function splitAtNul(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let from = 0; from < bytes.length;) {
    const to = bytes.indexOf(0, from);
    parts.push(bytes.subarray(from, to));
    from = to + 1;
  }
  return parts;
}

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "busbar-exact-"));
  mkdirSync(join(directory, "runs"));
  talk = openLauncher(Buffer.from("PATH=/usr/bin:/bin\0TBASE=\xff\xfe", "latin1"));
  expect(await talk.line()).toBe("ready");
});
afterEach(async () => {
  await talk.end();
  rmSync(directory, { recursive: true, force: true });
});

const bytes = fc.uint8Array({ min: 1, max: 255, maxLength: 60 });
const nasty = fc.constantFrom("'", '"', "\\", "$(id)", "`id`", "\n", "\r\n", "=", "-e", "é", "😀");
const text = fc.array(fc.oneof(nasty, fc.string({ unit: "binary" })), { maxLength: 8 });
const string = text.map((parts) => Buffer.from(parts.join("").replaceAll("\0", "")));
const part = fc.oneof(bytes, string);
const name = fc.stringMatching(/^T[A-Za-z0-9_.-]{1,8}$/);

describe("a launcher passes every byte on", () => {
  test("in arguments and values of variables, in UTF-8 or not", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 6 }), part, name, async (argv, value, key) => {
        const variable = Buffer.concat([Buffer.from(`${key}=`), value]);
        const found = await echo(argv, [variable]);
        expect(found.argv).toEqual(argv.map((one) => Buffer.from(one)));
        const own = Buffer.from("TBASE=\xff\xfe", "latin1");
        const byBytes = (a: Buffer, b: Buffer): number => Buffer.compare(a, b);
        expect(found.env.sort(byBytes)).toEqual([variable, own].sort(byBytes));
      }),
      { numRuns: 150 },
    );
  });

  test("a command does not inherit the values of the previous one in its lane", async () => {
    await echo([], [Buffer.from("TBASE=mine"), Buffer.from("TOTHER=x")]);
    const { env } = await echo([], []);
    expect(env).toEqual([Buffer.from("TBASE=\xff\xfe", "latin1")]);
  });

  test("a frame made of strings is the frame made of their bytes", () => {
    const strings = fc.array(
      string.map((one) => one.toString()),
      { minLength: 1, maxLength: 5 },
    );
    fc.assert(
      fc.property(strings, fc.dictionary(name, strings), (argv, values) => {
        const env = Object.fromEntries(Object.entries(values).map(([key, [v = ""]]) => [key, v]));
        const launch = {
          key: "1.0.1",
          directory: "",
          argv,
          env,
          cwd: undefined,
          script: undefined,
        };
        const variables = Object.entries(env).map(([key, value]) => Buffer.from(`${key}=${value}`));
        const frame = frameOf(
          "1.0.1",
          argv.map((one) => Buffer.from(one)),
          variables,
        );
        expect(Buffer.from(`\0${encodeLaunch(launch)}`)).toEqual(frame.subarray(8));
      }),
    );
  });
});
