import { join } from "node:path";
import { goSchedulePrograms, keptBy } from "../../tests/conformance/support/go-schedule.ts";
import { bindService, type Calls } from "../../src/client/client.ts";
import { Channel } from "../../src/client/grpc/channel.ts";
import { parseAddress } from "../../src/lib/address.ts";
import { Scheduler } from "../../src/gen/goschedule/v1/scheduler_pb.ts";
import type { Child } from "./child.ts";
import { waitUntil } from "./numbers.ts";
import type { Server, Site } from "./site.ts";

export interface GoSchedule {
  readonly site: Site;
  readonly server: Server;
  /** As schedctl calls. */
  readonly scheduler: Calls<typeof Scheduler>;
  readonly workers: readonly Child[];
  /** And the site, and what workers kept beside it. */
  close(): Promise<void>;
}

/** A server with so many workers like go-schedule's, on its main port. */
export async function startGoSchedule(site: Site, workers: number): Promise<GoSchedule> {
  const server = await site.startServer("data", ["--go-schedule", "127.0.0.1:0"]);
  const program = join(await goSchedulePrograms(), "worker");
  const args = ["-server", server.grpc];
  const started = Array.from({ length: workers }, () =>
    site.start(program, args, { env: { no_proxy: "*" } }),
  );
  const areConnected = async (): Promise<boolean> =>
    (await server.client.listNodes({ state: "connected" })).nodes.length === workers;
  await waitUntil("connecting workers", areConnected, { everyMs: 20, timeoutMs: 60_000 });
  const channel = new Channel(parseAddress(server.grpc, "server"));
  const scheduler = bindService(Scheduler, { channel, server: server.grpc, timeoutMs: 120_000 });
  const close = async (): Promise<void> => {
    channel.close();
    const removeKept = keptBy(site.path("data"));
    await site.close();
    removeKept();
  };
  return { site, server, scheduler, workers: started, close };
}
