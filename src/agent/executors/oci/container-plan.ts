import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Mount, Network } from "../../../core/model/job/containers/containers.ts";
import type { ImageBounds } from "./images/image-bounds.ts";
import type { ContainerPrograms } from "./programs.ts";

/** How this agent starts containers: the same for all of its runs. */
export interface ContainerMeans {
  readonly programs: ContainerPrograms;
  /** For an agent that is not root: one user, and no limits. */
  readonly isRootless: boolean;
  /** How a container gets its own root over the image: as a layer above it, or as a copy. */
  readonly root: "overlay" | "copy";
  readonly memory: boolean;
  /** Whether the kernel also limits swap: otherwise a limit of memory must not name it. */
  readonly swap: boolean;
  readonly cpu: "none" | "weight" | "quota";
  /** Control groups of version 2 alone: limits may be set by the names of their files. */
  readonly isUnified: boolean;
}

/** One container of a run. */
export interface PlannedContainer {
  /** Unique among all containers of this machine. */
  readonly id: string;
  /** Prefix of its output lines; empty: none. */
  readonly name: string;
  readonly image: string;
  /** Empty: the image's own. */
  readonly args: readonly string[];
  /** Added to those of the image. */
  readonly env: Readonly<Record<string, string>>;
}

/** Everything that is needed to make the bundles of a run; stored in its directory for the process that makes them. */
export interface ContainerPlan {
  readonly containers: readonly PlannedContainer[];
  readonly mounts: readonly Mount[];
  readonly network: Network;
  readonly hostname: string;
  /** The directory inside the container; undefined: the image's own. */
  readonly cwd: string | undefined;
  readonly progressFile: string;
  /** The path on this machine; undefined: none. */
  readonly script: string | undefined;
  /** In base units: thousandths of a cpu, bytes. */
  readonly needs: { readonly cpu?: number; readonly memory?: number };
  readonly dataLimitBytes: number | undefined;
  readonly means: ContainerMeans;
  /** The directory of all images. */
  readonly imagesDirectory: string;
  readonly bootId: string;
  /** When the run was planned: what a registry said about a tag since then is new enough for it. */
  readonly plannedAtMs: number;
  /** undefined: the usual ones. */
  readonly imageBounds?: ImageBounds | undefined;
}

/** Why a run could not be prepared, and whether the work or the node is at fault. */
export interface PreparationFailure {
  readonly kind: "could-not-start" | "node-fault";
  readonly message: string;
}

export const planPath = (runDirectory: string): string => join(runDirectory, "plan.json");
export const failurePath = (runDirectory: string): string => join(runDirectory, "failure.json");
/** The bundle of the container with this number. */
export const bundlePath = (runDirectory: string, number: number): string =>
  join(runDirectory, String(number));

export function writePlan(runDirectory: string, plan: ContainerPlan): void {
  writeFileSync(planPath(runDirectory), JSON.stringify(plan), { mode: 0o600 });
}

export const readPlan = (runDirectory: string): ContainerPlan =>
  JSON.parse(readFileSync(planPath(runDirectory), "utf8")) as ContainerPlan;
