import { accessSync, constants } from "node:fs";

import { describeChain } from "../../../lib/errors.ts";
import { identifyDirectory, isSharedDirectory } from "../../../lib/files/directory-id.ts";
import type { RunRequest, SubmitDirectory } from "../../../ports/executor.ts";

/** Where the process will run: here, or on any machine that shares this one's file systems. */
export type Reach = "here" | "shared";

/**
 * The request with the directory that its job was submitted from, where this machine has it. Otherwise the
 * run gets a fresh directory, and a line on its standard error says why.
 */
export function inSubmitDirectory(request: RunRequest, reach: Reach): RunRequest {
  const { submitDirectory, cwd, container, before = [] } = request;
  const hasOwn = cwd !== undefined || container !== undefined; // a container uses that of its image
  if (submitDirectory === undefined || hasOwn) return request;
  const why = whyNot(submitDirectory, reach);
  if (why === undefined) return { ...request, cwd: submitDirectory.path };
  const node = request.env["BUSBAR_NODE"] ?? "this node";
  const text = `busbar: ${submitDirectory.path} ${why} ${node}: running in a fresh directory`;
  return { ...request, before: ["/bin/sh", "-c", SAY, text, ...before] };
}

/** Prints one line on standard error, then replaces the shell by the command. */
const SAY = 'printf "%s\\n" "$0" >&2; exec "$@"';

function whyNot({ path, id }: SubmitDirectory, reach: Reach): string | undefined {
  if (reach === "shared" && !isSharedDirectory(id)) return "is not shared with the nodes of";
  try {
    const found = identifyDirectory(path);
    if (found === undefined) return "does not exist on";
    if (found !== id) return "is another directory on";
    accessSync(path, constants.X_OK);
    return undefined;
  } catch (error) {
    return `cannot be entered (${describeChain(error)}) on`;
  }
}
