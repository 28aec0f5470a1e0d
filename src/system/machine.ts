import { availableParallelism, totalmem } from "node:os";

/** What this machine has, in the units people use. Inside a container: what the container has. */
export function detectResources(): { readonly cpu: number; readonly memory: number } {
  const constrained = process.constrainedMemory();
  const total = totalmem();
  // Without a limit the kernel answers with 0 or a number beyond all memory.
  const memory = constrained > 0 && constrained < total ? constrained : total;
  return { cpu: availableParallelism(), memory };
}
