import type { StepShape } from "../write/to-steps.ts";

/** A shape as flags of sbatch. */
export function slurmShapeFlags(shape: StepShape): readonly string[] {
  const { nodes, processes, coresPerProcess, gpusPerProcess, memoryBytesPerProcess } = shape;
  return [
    ...(nodes === undefined ? [] : [`--nodes=${nodes}`]),
    `--ntasks=${processes}`,
    ...(coresPerProcess > 0 ? [`--cpus-per-task=${coresPerProcess}`] : []),
    ...(gpusPerProcess > 0 ? [`--gpus-per-task=${gpusPerProcess}`] : []),
    ...(memoryBytesPerProcess > 0
      ? [memoryFlag(memoryBytesPerProcess, Math.max(1, coresPerProcess))]
      : []),
    ...(shape.isExclusive ? ["--exclusive"] : []),
  ];
}

const memoryFlag = (bytes: number, cores: number): string =>
  `--mem-per-cpu=${Math.ceil(bytes / cores / 1_024)}K`;

/** Hours, minutes and seconds, rounded up. */
export function slurmTime(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  const two = (value: number): string => String(value).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
  return `${two(hours)}:${two(minutes)}:${two(seconds % 60)}`;
}
