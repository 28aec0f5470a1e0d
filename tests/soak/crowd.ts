import { get, type ClientRequest } from "node:http";
import { createClient, type BusbarClient } from "../../src/client/client.ts";
import { outputStreams } from "../../src/client/state.ts";
import { AppError } from "../../src/lib/errors.ts";
import { pause } from "./load.ts";

const ABANDONED_MAX = 8;

export interface CrowdOptions {
  readonly server: string;
  readonly http: string;
  readonly recent: readonly string[];
  readonly signal: AbortSignal;
}

/** Readers: they watch, disconnect, follow logs, request pages. */
export async function runCrowd(options: CrowdOptions): Promise<void> {
  await Promise.all([
    again(options, 700, watchForAMoment),
    again(options, 1_000, followOutput),
    again(options, 400, askRest),
    abandonWatches(options),
    abandonStreams(options),
  ]);
}

/** Each time over its own connection, which is closed again. */
async function again(
  options: CrowdOptions,
  pauseMs: number,
  look: (client: BusbarClient, options: CrowdOptions) => Promise<void>,
): Promise<void> {
  while (!options.signal.aborted) {
    const client = createClient({ server: options.server });
    try {
      await look(client, options);
    } catch (error) {
      // A job whose node has left has no output for now; any other error is a finding.
      const isExpected =
        error instanceof AppError && ["unavailable", "not_found"].includes(error.code);
      if (!options.signal.aborted && !isExpected) throw error;
    } finally {
      client.close();
    }
    await pause(pauseMs, options.signal);
  }
}

async function watchForAMoment(client: BusbarClient, { signal }: CrowdOptions): Promise<void> {
  let seen = 0;
  for await (const _event of client.watch({}, { signal })) if (++seen > 30) return;
}

async function followOutput(client: BusbarClient, { recent, signal }: CrowdOptions): Promise<void> {
  const id = recent.at(-1);
  if (id === undefined) return;
  const { tasks } = await client.listTasks({ jobId: id, pageSize: 1 });
  const taskId = tasks[0]?.id;
  if (taskId === undefined) return;
  const request = { taskId, stream: outputStreams.stdout, follow: true };
  for await (const _data of client.readOutput(request, { signal, timeoutMs: 15_000 }));
}

async function askRest(
  _client: BusbarClient,
  { http, recent, signal }: CrowdOptions,
): Promise<void> {
  const id = recent.at(-1) ?? "1";
  for (const path of ["jobs?pageSize=50", `jobs/${id}`, `jobs/${id}/tasks`, "nodes", "stats"]) {
    const answer = await fetch(`${http}/v1/${path}`, { signal });
    await answer.text();
  }
}

/** Opens watches and never reads them; drops the oldest silently when there are many. */
async function abandonWatches({ server, signal }: CrowdOptions): Promise<void> {
  const abandoned: BusbarClient[] = [];
  while (!signal.aborted) {
    const client = createClient({ server });
    abandoned.push(client);
    const events = client.watch({}, { signal });
    await events.next().catch(() => undefined);
    if (abandoned.length > ABANDONED_MAX) {
      abandoned.shift()?.close();
      await events.return();
    }
    await pause(5_000, signal);
  }
  for (const client of abandoned) client.close();
}

async function abandonStreams({ http, signal }: CrowdOptions): Promise<void> {
  const abandoned: ClientRequest[] = [];
  while (!signal.aborted) {
    const request = get(`${http}/v1/watch`, (response) => void response.pause());
    request.on("error", () => undefined); // it is destroyed below
    abandoned.push(request);
    if (abandoned.length > ABANDONED_MAX) abandoned.shift()?.destroy();
    await pause(5_000, signal);
  }
  for (const request of abandoned) request.destroy();
}
