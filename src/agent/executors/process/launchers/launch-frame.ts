import { join } from "node:path";

import type { Launch } from "./starter.ts";

const HEAD_BYTES = 8;

/**
 * What a lane needs for one command, each part ended by a NUL. No quoting: the kernel allows every
 * byte but NUL in an argument, a variable or a path, so what arrives is what was sent. The script
 * comes last and may hold anything, NUL bytes too. Throws when another part contains one.
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
  // A mark before the script tells an empty one from none.
  return `${parts.join("\0")}\0${script === undefined ? "" : `+${script}`}`;
}

/**
 * The same for a native launcher, with its length in front: the slot whose files the run uses comes
 * second, limits of setrlimit(2) after the arguments. A script is the last argument of its launch, and
 * lies in the slot, below the launcher's directory.
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

/** The lane it is for and the length, then the text; an empty one asks the lane to end. */
export function encodeFrame(lane: number, text: string): Buffer {
  const length = Buffer.byteLength(text);
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + length);
  bytes.writeUInt32BE(lane, 0);
  bytes.writeUInt32BE(length, 4);
  bytes.write(text, HEAD_BYTES);
  return bytes;
}

/** The environment every command begins with: the first thing a launcher reads. */
export function encodeEnvironment(env: Readonly<Record<string, string>>): Buffer {
  const parts = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const bytes = Buffer.from(parts.join("\0"));
  const head = Buffer.alloc(4);
  head.writeUInt32BE(bytes.length);
  return Buffer.concat([head, bytes]);
}

/** What a lane or its launcher says, one line each. */
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
      /** Nothing is left in the directory but empty files: it can serve another run. */
      readonly isClean: boolean;
      /** As in the state file: see parseUsage and parseOutcomeLine. */
      readonly used: string;
      readonly outcome: string;
    };

/** undefined: not a line of a launcher. */
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
