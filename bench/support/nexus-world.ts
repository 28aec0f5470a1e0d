import type { NexusEdgesOptions } from "../nexus-edges.ts";
import type { Child } from "./child.ts";
import { NexusClient } from "./nexus-client.ts";
import { waitUntil } from "./numbers.ts";
import type { Server, Site } from "./site.ts";

const CONNECTIONS = 16;
const GROUP = "bench";
const SITE = "bench";

/** A server with the nexus door, edges of idle old agents, and jobs that are pending for them. */
export interface NexusWorld {
  readonly server: Server;
  readonly address: string;
  readonly client: NexusClient;
  /** The name of a job on the wire. */
  nameOf(job: number): string;
  /** Begins to end each share at once. Returns just before. */
  startEdges(): Promise<Child>;
  areDone(): Promise<void>;
  close(): void;
}

export async function openNexusWorld(
  site: Site,
  { jobs, edges }: { readonly jobs: number; readonly edges: number },
): Promise<NexusWorld> {
  const server = await site.startServer("data", ["--nexus", "127.0.0.1:0"]);
  const address = await server.process.prints(/Nexus:\s+http:\/\/(\S+)/);
  const client = new NexusClient(address, CONNECTIONS);
  // The watch that shows that old agents live.
  const isAlive = client.watchLines("JobInfo", "0", () => undefined);
  await client.create("Site", [SITE]);
  await client.create("SiteDC", [SITE]);
  await inTurn(edges, (at) => join(client, `edge-${at}`));
  await client.create("Jobgroup", [GROUP]);
  await inTurn(jobs, (at) => request(client, at));
  return {
    server,
    address,
    client,
    nameOf: (job) => client.nameOf("Job", [GROUP, `job-${job}`]),
    async startEdges() {
      const options: NexusEdgesOptions = { server: address, connections: CONNECTIONS };
      const worker = site.startScript("nexus-edges.ts", options);
      await worker.prints(/began/);
      return worker;
    },
    areDone: () =>
      waitUntil("the end of all jobs", () => areDone(server, jobs), {
        everyMs: 50,
        timeoutMs: 300_000,
      }),
    close() {
      isAlive();
      client.close();
    },
  };
}

async function join(client: NexusClient, edge: string): Promise<void> {
  await client.create("Edge", [SITE, edge]);
  await client.create("EdgeDC", [SITE, edge]);
  const powerInfo = { totalPowerAvailable: 100, freePowerAvailable: 0 };
  await client.putStatus("Edge", client.nameOf("Edge", [SITE, edge]), { powerInfo });
}

const request = (client: NexusClient, at: number): Promise<void> =>
  client.create("Job", [GROUP, `job-${at}`], {
    spec: {
      jobId: at,
      powerNeeded: 300 + (at % 200),
      creationTime: Math.floor(Date.now() / 1_000),
    },
  });

async function areDone({ client }: Server, jobs: number): Promise<boolean> {
  const counted = await client.countJobs({});
  return (counted.jobs["succeeded"] ?? 0n) >= jobs;
}

/** All of them, as many at once as there are connections. */
async function inTurn(count: number, run: (at: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await run(next++);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
}
