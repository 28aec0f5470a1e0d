import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { removeTree } from "./remove-tree.ts";
import type { FactEntry } from "../../../core/model/node/node-facts.ts";
import { canStart } from "../../../core/model/node/container-facts.ts";
import { limits } from "../../../limits.ts";
import type { ContainerMeans, ContainerPlan } from "./container-plan.ts";
import { describeNotLimited, hasUnifiedGroups, limitsToTry } from "./runtime/group-limits.ts";
import type { ContainerPrograms } from "./programs.ts";
import { runProgram } from "./run-program.ts";
import { runtimeConfig } from "./runtime/runtime-config.ts";
import { SUPERVISE } from "./scripts.ts";

/** The limits that the operator requires: see Enforce of the process executor. */
export interface WantedLimits {
  readonly memory: boolean;
  readonly cpu: ContainerMeans["cpu"];
}

/** How this machine starts containers, and the facts about it. */
export interface FoundContainers {
  readonly means: ContainerMeans;
  readonly entry: FactEntry;
}

const PROBE = { timeoutMs: limits.containerProgramMsMax };

/** A text: why no container can start. */
export async function lookForContainers(
  directory: string,
  programs: ContainerPrograms,
  wanted: WantedLimits,
): Promise<FoundContainers | string> {
  const probed = await probeContainers(directory, programs, wanted);
  if (typeof probed === "string") return probed;
  const { stdout } = await runProgram(programs.runc, ["--version"], PROBE);
  const version = /^runc version (\S+)/.exec(stdout)?.[1] ?? "unknown";
  return { means: probed.means, entry: describeMeans(probed, version) };
}

interface Probed {
  readonly means: ContainerMeans;
  /** Why it has fewer limits than wanted; undefined: it has all of them. */
  readonly notLimited: string | undefined;
}

/**
 * Finds out by starting containers: no other check shows which namespaces, mounts and control groups this machine allows. Returns a text
 * when no container can start: the reason.
 */
async function probeContainers(
  directory: string,
  programs: ContainerPrograms,
  wanted: WantedLimits,
): Promise<Probed | string> {
  const isRootless = process.getuid?.() !== 0;
  const isUnified = hasUnifiedGroups();
  const tries = limitsToTry(isRootless ? { memory: false, cpu: "none" } : wanted);
  const failures: string[] = [];
  for (const root of ["overlay", "copy"] as const) {
    let notLimited: string | undefined;
    for (const group of tries) {
      const means = { programs, isRootless, isUnified, root, ...group };
      const failure = await startsContainer(directory, means);
      if (failure === undefined) return { means, notLimited };
      notLimited ??= failure;
      failures.push(failure);
    }
  }
  return `runc cannot start any on this machine: ${failures[0]}`;
}

function describeMeans({ means, notLimited }: Probed, version: string): FactEntry {
  return canStart({
    version,
    root: means.root,
    rootless: means.isRootless,
    memory: means.memory ? "limited" : "not limited",
    cpu: means.cpu === "none" ? "not limited" : means.cpu,
    ...(notLimited !== undefined && { why: describeNotLimited(notLimited) }),
  });
}

/** Directories of this machine, whose programs the trial runs. */
const SHOWN = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32"];

/** Why it does not work; undefined: it works. */
async function startsContainer(
  directory: string,
  means: ContainerMeans,
): Promise<string | undefined> {
  const trial = mkdtempSync(join(directory, "trial-"));
  // Not below the data directory: runc makes missing parents, and a removed data directory must stay removed.
  const states = mkdtempSync(join(tmpdir(), "busbar-trial-"));
  const id = `busbar-${trial.slice(trial.lastIndexOf("/") + 1)}-${process.pid}`;
  const bundle = join(trial, "0");
  try {
    for (const name of ["", "rootfs", "upper", "work", "image"]) mkdirSync(join(bundle, name));
    writeFileSync(join(trial, "progress"), "");
    writeFileSync(join(bundle, "config.json"), JSON.stringify(trialConfig(trial, id, means)));
    const [program = "", ...args] = superviseCommand(means, {
      runDirectory: trial,
      states,
      killGraceMs: 0,
      containers: [{ name: "", id }],
    });
    const { code, stderr } = await runProgram(program, args, PROBE);
    if (code !== 0) return lastLine(stderr);
    const remove = ["--root", states, "delete", "--force", id];
    await runProgram(means.programs.runc, remove, PROBE);
    return undefined;
  } finally {
    removeTree(states);
    removeTree(trial);
  }
}

function trialConfig(trial: string, id: string, means: ContainerMeans): unknown {
  const plan: ContainerPlan = {
    containers: [],
    mounts: SHOWN.filter((path) => existsSync(path)).map((path) => ({
      source: path,
      target: path,
      writable: false,
    })),
    network: "host",
    hostname: "trial",
    cwd: "/",
    progressFile: join(trial, "progress"),
    script: undefined,
    needs: { cpu: 1_000, memory: limits.containerTrialBytes },
    dataLimitBytes: undefined,
    means,
    imagesDirectory: "",
    bootId: "",
    plannedAtMs: 0,
  };
  const container = { id, name: "", image: "", args: ["/bin/sh", "-c", ":"], env: {} };
  const image = {
    digest: "",
    args: [],
    env: [],
    cwd: "/",
    user: { uid: 0, gid: 0 },
    bytes: 0,
    bootId: "",
    unpackedAtMs: 0,
  };
  return runtimeConfig(plan, container, image, []);
}

/** The command that runs the containers of a run; its bundles exist. */
export function superviseCommand(
  { programs, isRootless, root }: ContainerMeans,
  run: {
    readonly runDirectory: string;
    readonly states: string;
    readonly killGraceMs: number;
    readonly containers: readonly { readonly name: string; readonly id: string }[];
  },
): readonly string[] {
  const own = isRootless ? ["--user", "--map-root-user"] : [];
  return [
    programs.unshare,
    ...own,
    "--mount",
    "--propagation",
    "private",
    "/bin/sh",
    "-c",
    SUPERVISE,
    "busbar-containers",
    run.runDirectory,
    root,
    programs.setsid,
    programs.runc,
    run.states,
    String(Math.ceil(run.killGraceMs / 100)),
    ...run.containers.flatMap(({ name, id }) => [name, id]),
  ];
}

function lastLine(text: string): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return (lines.at(-1) ?? "it gave no reason").slice(0, 300);
}
