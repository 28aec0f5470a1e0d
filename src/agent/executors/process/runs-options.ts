import type { Clock } from "../../../ports/clock.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { KeptBounds } from "../../runs/ledger/kept-outputs.ts";
import type { RunContainers } from "../../runs/containers/run-containers.ts";
import type { Remover } from "../../runs/remover.ts";
import type { AttachedRuns } from "./attach/attached-runs.ts";
import type { CgroupFiles } from "./cgroups/cgroup-files.ts";
import type { Enforcement } from "./cgroups/enforcement.ts";
import type { LaunchLogs } from "./launchers/launch-logs.ts";
import type { Sessions } from "./sessions.ts";
import type { ProcessStarter } from "./launchers/starter.ts";

export interface RunsOptions {
  readonly directory: string;
  /** The directories that lanes prepare: see PoolStarter. */
  readonly spareDirectory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly bootId: string;
  readonly starter: ProcessStarter;
  /** Of native launchers. */
  readonly logs: LaunchLogs;
  /** PATH of tasks that set none of their own. */
  readonly searchPath: string;
  readonly sessions: Sessions;
  /** See runTagOf. */
  readonly tag: string;
  readonly endsSurvivors: boolean;
  readonly enforcement: Enforcement;
  /** Replaces the file system of control groups. */
  readonly cgroupFiles?: CgroupFiles | undefined;
  /** For runs in containers; undefined: not supported. */
  readonly containers: RunContainers | undefined;
  readonly attached: AttachedRuns;
  readonly remover: Remover;
  readonly keptBounds: KeptBounds;
}
