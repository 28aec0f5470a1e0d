import { HttpWire } from "./support/http-wire.ts";
import { NexusClient, USER_AGENT } from "./support/nexus-client.ts";

// Edges of the nexus door that end each share at once. They have a separate process, which does as little as possible: its CPU counts
// beside the server's.

/** The order of the bench to this process, as JSON in its first argument. */
export interface NexusEdgesOptions {
  readonly server: string;
  readonly connections: number;
}

const { server, connections } = JSON.parse(process.argv[2] ?? "") as NexusEdgesOptions;
const client = new NexusClient(server, 1);
const wire = new HttpWire(server, connections);
const HEADERS = `User-Agent: ${USER_AGENT}\r\nContent-Type: application/json\r\n`;

let shares = 0;
let refused = 0;

function finish(name: string): void {
  shares += 1;
  const now = Math.floor(Date.now() / 1_000);
  const state = `{"progress":100,"startTime":${now},"endTime":${now}}`;
  const body = `{"kind":"jobinfos","metadata":{"name":"${name}"},"spec":{},"status":{"state":${state}}}`;
  const path = `${client.path("JobInfo", name)}/status`;
  void wire.send("PUT", path, HEADERS, body).then((status) => {
    if (status !== 200) refused += 1;
  });
}

const NAME = '"metadata":{"name":"';
const HASH_LENGTH = 40;

const { items, resourceVersion } = await client.list("JobInfo");
process.stdout.write("began\n");
client.watchLines("JobInfo", resourceVersion, (line) => {
  if (!line.startsWith('{"type":"ADDED"')) return;
  const at = line.indexOf(NAME) + NAME.length;
  finish(line.slice(at, at + HASH_LENGTH));
});
for (const { metadata, status } of items) if (status.state.progress !== 100) finish(metadata.name);
process.on("SIGTERM", () => {
  process.stdout.write(`${shares} shares, ${refused} refused\n`);
  process.exit(0);
});
