import { join } from "node:path";
import {
  create,
  type DescMessage,
  type DescService,
  fromBinary,
  toBinary,
} from "@bufbuild/protobuf";
import { goSchedulePrograms, keptBy } from "../../tests/conformance/support/go-schedule.ts";
import { bindService, type Calls, type ServiceMethod } from "../../src/client/bind-service.ts";
import { Channel } from "../../src/client/grpc/channel.ts";
import { parseAddress } from "../../src/lib/address.ts";
import { Scheduler } from "../../src/gen/goschedule/v1/scheduler_pb.ts";
import type { Child } from "./child.ts";
import { waitUntil } from "./numbers.ts";
import type { Server, Site } from "./site.ts";

export interface GoSchedule {
  readonly site: Site;
  readonly server: Server;
  /** The client, with the calls of schedctl. */
  readonly scheduler: Calls<typeof Scheduler>;
  readonly workers: readonly Child[];
  /** Also removes the site, and the files that workers keep beside it. */
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
  const peer = { channel, server: server.grpc, timeoutMs: 120_000 };
  const scheduler = bindService<typeof Scheduler>(methodsOf(Scheduler), peer);
  const close = async (): Promise<void> => {
    channel.close();
    const removeKept = keptBy(site.path("data"));
    await site.close();
    removeKept();
  };
  return { site, server, scheduler, workers: started, close };
}

function methodsOf({ typeName, methods }: DescService): Map<string, ServiceMethod> {
  const toMethod = (method: (typeof methods)[number]): ServiceMethod => ({
    path: `/${typeName}/${method.name}`,
    kind: method.methodKind,
    encode: (request) =>
      toBinary<DescMessage>(method.input, create(method.input, request as Record<string, unknown>)),
    decode: (answer) => fromBinary<DescMessage>(method.output, answer),
  });
  return new Map(methods.map((method) => [method.localName, toMethod(method)]));
}
