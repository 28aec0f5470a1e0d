import type * as ffiModule from "node:ffi";

/** A socket of node:net, with its undocumented handle. */
interface HandledSocket {
  readonly destroyed: boolean;
  readonly _handle?: { readonly fd?: number } | null;
}

type SetOption = (
  fd: number,
  level: number,
  option: number,
  value: Buffer,
  bytes: number,
) => number;

// Linux has the same numbers on every processor that Node runs on.
const SOL_SOCKET = 1;
const SO_SNDBUF = 7;

let setOption: SetOption | "unknown" | undefined = "unknown";

/**
 * Bounds the bytes that the kernel buffers for a peer that does not read. By default Linux buffers up to 4 MB for each socket, and copying
 * them costs the sender as much as if the peer read them. Node has no call for this, so this calls the C library. Returns whether it
 * succeeded; false outside Linux.
 */
export function boundSendBuffer(socket: HandledSocket, bytes: number): boolean {
  if (setOption === "unknown") setOption = findSetOption();
  const fd = socket._handle?.fd ?? -1;
  if (setOption === undefined || fd < 0) return false;
  const value = Buffer.alloc(4);
  value.writeInt32LE(bytes);
  return setOption(fd, SOL_SOCKET, SO_SNDBUF, value, value.length) === 0;
}

function findSetOption(): SetOption | undefined {
  if (process.platform !== "linux") return undefined;
  // The first watch loads it, so that other commands do not. Absent where Node was built without it.
  const ffi = process.getBuiltinModule("node:ffi") as typeof ffiModule | undefined;
  const { functions } =
    ffi?.dlopen(null, {
      setsockopt: { arguments: ["i32", "i32", "i32", "buffer", "u32"], return: "i32" },
    }) ?? {};
  return functions?.setsockopt;
}
