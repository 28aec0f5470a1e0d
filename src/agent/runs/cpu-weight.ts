/** cpu.weight of control groups version 2 for a request in thousandths of a cpu. One cpu: 100, the kernel's default. */
export const cpuWeightOf = (millis: number): number =>
  Math.min(10_000, Math.max(1, Math.round(millis / 10)));
