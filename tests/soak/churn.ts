import type { Running, Site } from "../support/busbar.ts";
import { pause } from "./load.ts";

const STAYS_MS = 12_000;
const NAMES = ["b1", "b2", "b3"];

/** Agents that join and leave, in order and by kill -9, again and again. */
export async function runChurn(site: Site, signal: AbortSignal): Promise<void> {
  for (let count = 0; !signal.aborted; count++) {
    const name = NAMES[count % NAMES.length] ?? "b";
    const agent: Running = await site.startAgent(name, "--cpu", "2");
    await pause(STAYS_MS, signal);
    const isOrderly = count % 2 === 0;
    const code = await agent.end(isOrderly ? "SIGTERM" : "SIGKILL");
    if (isOrderly && code !== 0)
      throw new Error(`agent ${name} ended with ${code}: ${agent.output}`);
  }
}
