import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { removeTree } from "./remove-tree.ts";
import { cannotStart } from "../../../core/model/node/container-facts.ts";
import type { FactEntry } from "../../../core/model/node/node-facts.ts";
import type { AgentEnv } from "../../runs/task-env.ts";
import { lookForContainers } from "./capability.ts";
import { findContainerPrograms } from "./programs.ts";

/** The facts about containers that an agent on this machine would send. */
export async function containerFactsHere(env: AgentEnv): Promise<readonly FactEntry[]> {
  const programs = findContainerPrograms(env);
  if (typeof programs === "string") return [cannotStart(programs)];
  const directory = mkdtempSync(join(tmpdir(), "busbar-containers-"));
  try {
    const found = await lookForContainers(directory, programs, { memory: true, cpu: "weight" });
    return [typeof found === "string" ? cannotStart(found) : found.entry];
  } finally {
    removeTree(directory);
  }
}
