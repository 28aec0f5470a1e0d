import type { MachineFacts } from "../../../core/graph/facts.ts";
import type { FluxCommand } from "./flux-command.ts";

const KIB = 1024;

/**
 * The memory of the machines, which Flux does not know or count: the agent asks the brokers' machines by
 * `flux exec`, which the owner of an instance may run. It asks each rank until that has answered once.
 */
export function createNodeMemory(flux: FluxCommand) {
  const bytesOf = new Map<number, number>();
  return async (nodes: readonly MachineFacts[]): Promise<readonly MachineFacts[]> => {
    if (nodes.some((node) => !bytesOf.has(rankOf(node)))) {
      // The command fails when some of them do not answer, and for guests: the answers so far count.
      const answer = await flux(["exec", "--labelio", "grep", "MemTotal", "/proc/meminfo"]);
      for (const [rank, bytes] of parseMemory(answer.stdout)) bytesOf.set(rank, bytes);
    }
    return nodes.map((node) => ({ ...node, memoryBytes: bytesOf.get(rankOf(node)) ?? 0 }));
  };
}

const rankOf = ({ metadata }: MachineFacts): number => Number(metadata?.["rank"]);

/** Lines "3: MemTotal:   16384000 kB", in any order. */
export function parseMemory(text: string): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  for (const [, rank, kib] of text.matchAll(/^(\d+): MemTotal:\s+(\d+) kB$/gm)) {
    found.set(Number(rank), Number(kib) * KIB);
  }
  return found;
}
