import type { InstantAgentOptions } from "../instant-agent.ts";
import { sleep } from "../support/numbers.ts";
import { atMost, type Bench, type Case, type Measure } from "../support/part.ts";
import { readCpu } from "../support/proc.ts";

const AGENTS_PER_PROCESS = 1_000;
const SETTLE_MS = 25_000; // longer than the longest interval between two heartbeats
const MEASURE_MS = 40_000; // two of them
const MINUTE_MS = 60_000;

async function measure(bench: Bench, agents: number): Promise<Measure> {
  const site = bench.openSite();
  const server = await site.startServer();
  const { pid } = server.process;
  for (let first = 0; first < agents; first += AGENTS_PER_PROCESS) {
    const sessions = Math.min(AGENTS_PER_PROCESS, agents - first);
    const options: InstantAgentOptions = {
      server: server.grpc,
      name: `idle-${first}`,
      sessions,
      cpus: 1,
    };
    await site.startScript("instant-agent.ts", options).prints(/connected/);
    bench.progress(`${first + sessions} agents`);
  }
  await sleep(SETTLE_MS);
  const [before, beginMs] = [readCpu(pid), performance.now()];
  await sleep(MEASURE_MS);
  const [after, endMs] = [readCpu(pid), performance.now()];
  const perMinute = MINUTE_MS / (endMs - beginMs) / 1_000;
  const main = (after.main - before.main) * perMinute;
  const others = (after.others - before.others) * perMinute;
  const { agentSessions } = await server.client.getStats({});
  await site.close();
  return {
    name: `${agents} idle agents, CPU per minute`,
    value: main + others,
    unit: "s",
    ...(agents === 10_000 && { must: atMost(2) }),
    note: `${main.toFixed(2)} s in the deciding thread; ${agentSessions} agents at the end`,
  };
}

/** The CPU time of a server with connected, idle agents. */
export const idleCpu: Case = {
  id: "k.idle-agents",
  what: "CPU of the server for connected, idle agents",
  async run(bench) {
    const few = await measure(bench, bench.count(5_000));
    return [few, await measure(bench, bench.count(10_000))];
  },
};
