import type { InstantAgentOptions } from "../instant-agent.ts";
import { settle } from "../support/backlog.ts";
import { atMost, type Case } from "../support/part.ts";
import { readRss } from "../support/proc.ts";

const FIRST = 200;
const MORE = 1_000;
const KB = 1_000;

/** The cost of a connected, idle agent. */
export const idleAgents: Case = {
  id: "e.agents",
  what: "memory of the server for each connected, idle agent",
  async run(bench) {
    const site = bench.openSite();
    const server = await site.startServer();
    const { pid } = server.process;
    const rss = async (): Promise<number> => {
      await settle();
      return readRss(pid) / KB;
    };
    const connect = async (name: string, sessions: number): Promise<void> => {
      const options: InstantAgentOptions = { server: server.grpc, name, sessions, cpus: 1 };
      await site.startScript("instant-agent.ts", options).prints(/connected/);
    };
    const empty = await rss();
    await connect("first", FIRST);
    const few = await rss();
    const more = bench.count(MORE);
    await connect("more", more);
    const many = await rss();
    const note = `${Math.round(empty)} kB empty, ${Math.round(few)} with ${FIRST}`;
    return [
      // The first ones also pay one-time costs: code that is loaded, a heap that grows.
      { name: `each of the first ${FIRST}`, value: (few - empty) / FIRST, unit: "kB", note },
      { name: `each of ${MORE} more`, value: (many - few) / more, unit: "kB", must: atMost(64) },
    ];
  },
};
