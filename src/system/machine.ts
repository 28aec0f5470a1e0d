import { availableParallelism, totalmem } from "node:os";

/** The capacity of this machine, or of the container that the process runs in. */
export function detectResources(): { readonly cpu: number; readonly memory: number } {
  const constrained = process.constrainedMemory();
  const total = totalmem();
  // Without a limit the kernel reports 0 or a number beyond all memory.
  const memory = constrained > 0 && constrained < total ? constrained : total;
  return { cpu: availableParallelism(), memory };
}
