import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Containers } from "../../../src/agent/executors/oci/containers.ts";
import type { ImageBounds } from "../../../src/agent/executors/oci/images/image-bounds.ts";
import type {
  LauncherKind,
  ProcessExecutorOptions,
} from "../../../src/agent/executors/process/process-executor.ts";
import { readBootId } from "../../../src/agent/proc.ts";
import type { ContainerTerms } from "../../../src/core/model/job/containers/containers.ts";
import type { Executor, RunRequest } from "../../../src/ports/executor.ts";
import { createSystemClock } from "../../../src/system/clock.ts";
import { silentLogger } from "../../../src/testing/silent-logger.ts";
import type { ExecutorBed } from "./executor-contract.ts";
import { makeProcessBed } from "./process-bed.ts";

export interface OciBed extends ExecutorBed {
  /** The directory of images, bundles and states. */
  readonly directory: string;
  open(over?: Partial<ProcessExecutorOptions>): Promise<Executor>;
  /** The directory of the process executor. */
  readonly runsDirectory: string;
  /** The pids of all its processes. */
  processes(): number[];
}

/** A bed of an executor whose every run is in a container of this image by default. A given directory stays, with its unpacked images. */
export function makeOciBed(
  image: string,
  {
    launcher = "native",
    kept,
    imageBounds,
  }: {
    readonly launcher?: LauncherKind;
    readonly kept?: string;
    readonly imageBounds?: ImageBounds;
  } = {},
): OciBed {
  const bed = makeProcessBed(launcher);
  const directory = kept ?? mkdtempSync(join(tmpdir(), "busbar-oci-"));
  return {
    directory,
    runsDirectory: bed.directory,
    processes: () => bed.processes(),
    async open(over) {
      const containers = new Containers({
        directory,
        clock: createSystemClock(),
        logger: silentLogger,
        bootId: readBootId(),
        env: process.env,
        wanted: { memory: true, cpu: "weight" },
        imageBounds,
      });
      await containers.found;
      const executor = await bed.open({ containers, ...over });
      const start = (request: RunRequest): void =>
        executor.start(
          request.work.kind === "workload" ? request : { container: inImage(image), ...request },
        );
      return { ...executor, start };
    },
    abandon: (executor) => bed.abandon(executor),
    async dispose() {
      await bed.dispose();
      if (kept === undefined) rmSync(directory, { recursive: true, force: true });
    },
  };
}

export const inImage = (image: string, over: Partial<ContainerTerms> = {}): ContainerTerms => ({
  image,
  containers: [],
  mounts: [],
  network: "host",
  ...over,
});
