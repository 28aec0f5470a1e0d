import { readdirSync, readFileSync } from "node:fs";

/** The resources of one process at one moment. */
export interface Sample {
  readonly rssBytes: number;
  /** V8's heap; undefined for a process that does not report it. */
  readonly heapBytes: number | undefined;
  readonly descriptors: number;
  readonly threads: number;
  /** Children that ended and were not waited for. */
  readonly zombies: number;
}

/** undefined when the process has ended. */
export function sampleProcess(pid: number, heapBytes?: number): Sample | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const field = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0);
    return {
      rssBytes: field("VmRSS") * 1024,
      heapBytes,
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      threads: field("Threads"),
      zombies: zombiesOf(pid),
    };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return undefined;
    throw error;
  }
}

function zombiesOf(pid: number): number {
  let zombies = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const children = readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8");
    for (const child of children.split(" ").filter(Boolean)) {
      if (stateOf(child) === "Z") zombies++;
    }
  }
  return zombies;
}

function stateOf(pid: string): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.charAt(stat.lastIndexOf(")") + 2);
  } catch {
    return ""; // gone by now
  }
}

/** The server's heap, from /metrics. */
export async function sampleServer(pid: number, http: string): Promise<Sample | undefined> {
  const answer = await fetch(`${http}/metrics`, { signal: AbortSignal.timeout(10_000) });
  const heap = /^nodejs_heap_used_bytes (\S+)$/m.exec(await answer.text())?.[1];
  return sampleProcess(pid, heap === undefined ? undefined : Number(heap));
}
