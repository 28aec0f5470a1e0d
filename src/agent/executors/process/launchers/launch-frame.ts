import { join } from "node:path";

import type { Launch } from "./starter.ts";

const HEAD_BYTES = 8;

/**
 * The data that a lane needs for one command, each part terminated by a NUL. No quoting: the kernel allows every byte except NUL in an
 * argument, a variable or a path, so all bytes arrive unchanged. The script comes last and may contain anything, NUL bytes too. Throws when
 * another part contains one.
 */
export function encodeLaunch({ key, argv, env, cwd, script, group }: Launch): string {
  const parts = [key, cwd ?? "", group?.path ?? "", "", String(argv.length)];
  const before = parts.length;
  for (const name in env) parts.push(`${name}=${env[name]}`);
  parts[3] = String(parts.length - before);
  for (const argument of argv) parts.push(argument);
  for (const part of parts) {
    if (part.includes("\0")) throw new Error("an argument or a variable contains a NUL byte");
  }
  // A mark before the script distinguishes an empty script from none.
  return `${parts.join("\0")}\0${script === undefined ? "" : `+${script}`}`;
}

/**
 * The same for a native launcher, preceded by its length: the slot whose files the run uses comes second, limits of setrlimit(2) after the
 * arguments. A script is the last argument of its launch, and is in the slot, below the launcher's directory.
 */
export function encodeNativeLaunch(launch: Launch, slot: string, directory: string): Buffer {
  const { key, env, cwd, script, group, limits = [] } = launch;
  const argv =
    script === undefined
      ? launch.argv
      : [...launch.argv.slice(0, -1), join(directory, slot, "script")];
  const counts = ["", String(argv.length), String(limits.length)];
  const parts = [key, slot, cwd ?? "", group?.path ?? "", ...counts];
  const before = parts.length;
  for (const name in env) parts.push(`${name}=${env[name]}`);
  parts[4] = String(parts.length - before);
  parts.push(...argv);
  for (const { resource, soft, hard } of limits) parts.push(`${resource}:${soft}:${hard}`);
  for (const part of parts) {
    if (part.includes("\0")) throw new Error("an argument or a variable contains a NUL byte");
  }
  const text = `${parts.join("\0")}\0${script === undefined ? "" : `+${script}`}`;
  const length = Buffer.byteLength(text);
  const bytes = Buffer.allocUnsafe(4 + length);
  bytes.writeUInt32BE(length, 0);
  bytes.write(text, 4);
  return bytes;
}

/** The number of the lane and the length, then the text; an empty text asks the lane to end. */
export function encodeFrame(lane: number, text: string): Buffer {
  const length = Buffer.byteLength(text);
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + length);
  bytes.writeUInt32BE(lane, 0);
  bytes.writeUInt32BE(length, 4);
  bytes.write(text, HEAD_BYTES);
  return bytes;
}

/** The base environment of every command: the first frame that a launcher reads. */
export function encodeEnvironment(env: Readonly<Record<string, string>>): Buffer {
  const parts = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const bytes = Buffer.from(parts.join("\0"));
  const head = Buffer.alloc(4);
  head.writeUInt32BE(bytes.length);
  return Buffer.concat([head, bytes]);
}

/** The reports of a lane or its launcher, one line each. */
export type LauncherLine =
  | { readonly kind: "ready" }
  | { readonly kind: "gone"; readonly lane: number } // the lane died
  | { readonly kind: "taken"; readonly lane: number; readonly key: string }
  | { readonly kind: "started"; readonly lane: number; readonly key: string; atMs: number }
  | { readonly kind: "refused"; readonly lane: number; readonly key: string; errno: number }
  | {
      readonly kind: "ended";
      readonly lane: number;
      readonly key: string;
      readonly outputBytes: readonly [stdout: number, stderr: number];
      /** The directory contains only empty files: it can serve another run. */
      readonly isClean: boolean;
      /** As in the state file: see parseUsage and parseOutcomeLine. */
      readonly used: string;
      readonly outcome: string;
    };

/** undefined: the line is not from a launcher. */
export function parseLauncherLine(line: string): LauncherLine | undefined {
  if (line === "ready") return { kind: "ready" };
  const [first = "", key = "", kind, ...rest] = line.split(" ");
  const lane = Number(first);
  if (key === "gone") return { kind: "gone", lane };
  if (kind === "taken") return { kind, lane, key };
  if (kind === "started") return { kind, lane, key, atMs: Number(rest[0]) };
  if (kind === "refused") return { kind, lane, key, errno: Number(rest[0]) };
  if (kind !== "ended") return undefined;
  const [stdout, stderr, isClean, used = "", ...outcome] = rest;
  return {
    kind,
    lane,
    key,
    outputBytes: [Number(stdout), Number(stderr)],
    isClean: isClean === "1",
    used,
    outcome: outcome.join(" "),
  };
}
