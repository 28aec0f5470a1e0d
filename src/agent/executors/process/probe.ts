import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";

import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { CommandOutcome } from "../../runs/command-outcome.ts";
import { diskFault } from "../../runs/disk-space.ts";
import { describeMachineFault, describeOwnFault } from "../../runs/machine-fault.ts";
import type { RunFiles } from "./run-files.ts";
import type { Gone, Launch, ProcessStarter } from "./launchers/starter.ts";

export interface ProbeOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly starter: ProcessStarter;
  readonly files: RunFiles;
  /** Recreates missing files in `directory`, which exists. */
  restore(): void;
}

let probes = 0; // counter of this process

/**
 * Resolves when this machine can start processes: takes all steps of a start, with a process that does nothing. Throws an Error whose
 * message is the reason.
 *
 * It does not recreate the data directory itself: when its disk is not mounted, that would put everything on another disk. It recreates the
 * directory's content.
 */
export async function probe(options: ProbeOptions): Promise<void> {
  const { directory, starter, files } = options;
  try {
    if (!existsSync(directory)) mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    throw new Error(describeOwnFault(error, dirname(directory)), { cause: error });
  }
  const full = diskFault(directory);
  if (full !== undefined) throw new Error(full);
  try {
    options.restore();
    writeAndSync(join(directory, "probe"));
  } catch (error) {
    throw new Error(describeOwnFault(error, directory), { cause: error });
  }
  starter.renew?.();
  probes += 1;
  const key = `probe-${process.pid}-${probes}`;
  const launch: Launch = {
    key,
    directory: files.pathOf(key),
    argv: ["/bin/sh", "-c", ":"],
    env: {},
    cwd: undefined,
    script: undefined,
  };
  try {
    const gone = await started(starter, launch, options.clock);
    const fault = faultOf(gone, () => files.read(key)?.outcome, directory);
    if (fault !== undefined) throw new Error(fault);
  } finally {
    files.dropProbe(key);
  }
}

/** As many bytes as a small run writes, flushed as well. */
function writeAndSync(path: string): void {
  const file = openSync(path, "w", 0o600);
  try {
    writeSync(file, Buffer.alloc(4_096));
    fsyncSync(file);
  } finally {
    closeSync(file);
    rmSync(path, { force: true });
  }
}

function started(starter: ProcessStarter, launch: Launch, clock: Clock): Promise<Gone> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(limits.probeMsMax, () => {
      reject(new Error(`a process that does nothing took longer than ${limits.probeMsMax} ms`));
    });
    const onGone = (gone: Gone): void => {
      cancel();
      resolve(gone);
    };
    starter.start(launch, onGone, () => undefined);
  });
}

function faultOf(
  gone: Gone,
  outcomeOnDisk: () => CommandOutcome | undefined,
  directory: string,
): string | undefined {
  if (gone.kind === "could-not-start" || gone.kind === "node-fault") return gone.message;
  const outcome = gone.kind === "ended" ? gone.outcome : outcomeOnDisk();
  if (outcome === undefined) return "a process was started and left no exit code";
  if (outcome.kind === "machine-fault") return describeMachineFault(outcome.errno, directory);
  if (outcome.kind === "not-executed") return "this machine has no /bin/sh";
  const isWell = outcome.kind === "exited" && outcome.exitCode === 0;
  return isWell ? undefined : "a process that does nothing failed";
}
