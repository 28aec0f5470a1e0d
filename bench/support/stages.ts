/** The stages of a task in the server. */
export type Stage =
  | "decode"
  | "check"
  | "decide"
  | "plan"
  | "encode"
  | "store"
  | "wire"
  | "loop"
  | "garbage"
  | "native"
  | "other";

/** By the file of a function; the first match. */
const FILES: readonly (readonly [RegExp, Stage])[] = [
  [/native\/(decode-submit|translate)\.ts|wire-reader|agent-messages|from-binary/, "decode"],
  [
    /native\/(encode-submitted|translate-\w+)\.ts|state\/codec|agent-session\.ts|to-binary/,
    "encode",
  ],
  [/^src\/core\/model\//, "check"],
  [/^src\/core\/scheduler\//, "plan"],
  [/^src\/core\//, "decide"],
  [/^src\/store\//, "store"],
  [/^src\/server\//, "loop"],
  [/^src\/api\/|^node:(?:internal\/(?:http2|stream|js_stream|net)|net|events)|grpc-js/, "wire"],
];

/** The stage that a function begins, if any: functions that it calls belong to it, unless they begin another. */
export function stageOf(name: string, path: string): Stage | undefined {
  if (name === "(garbage collector)") return "garbage";
  if (name === "(program)") return "native"; // outside any function: mostly HTTP/2 and system calls
  return FILES.find(([pattern]) => pattern.test(path))?.[1];
}
