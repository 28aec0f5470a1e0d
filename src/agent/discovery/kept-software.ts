import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Software } from "../../core/model/node/node-facts.ts";
import { parseNodeFacts } from "../../core/model/node/node-facts.ts";

/**
 * The software found last time, in the agent's directory: a restarted agent sends it in Hello, so that the node does not seem to have lost
 * its software until discovery is done. Best effort: without this file, or with a damaged one, discovery comes first.
 */
export interface KeptSoftware {
  load(): Software;
  save(software: Software): void;
}

export function createKeptSoftware(directory: string): KeptSoftware {
  const path = join(directory, "software.json");
  return {
    load() {
      try {
        return parseNodeFacts(readFileSync(path, "utf8"), "software").software;
      } catch {
        return {};
      }
    },
    save(software) {
      try {
        writeFileSync(`${path}.new`, JSON.stringify({ software }), { mode: 0o600 });
        renameSync(`${path}.new`, path);
      } catch {
        // The agent's journals report a full disk.
      }
    },
  };
}
