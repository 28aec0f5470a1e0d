import type { Busbar } from "../gen/busbar/v1/busbar_pb.ts";
import { bindClient, type Calls } from "./bind-service.ts";
import { Channel } from "./grpc/channel.ts";

export interface ClientOptions {
  /** The server's gRPC address: "127.0.0.1:7071". */
  readonly server: string;
  /** The time limit of a unary call; default 30 s. */
  readonly timeoutMs?: number;
}

/**
 * Busbar's native API. Requests are plain objects; answers are protobuf messages (64-bit numbers are bigint). Every error is an AppError
 * with one of a closed set of codes; `field` names the wrong input when the server named it. Read streams with `for await`; leaving the
 * loop ends the call. `close` ends all calls that are still under way.
 */
export interface BusbarClient extends Calls<typeof Busbar> {
  readonly server: string;
  close(): void;
}

/**
 * Connects on the first call, and again after a lost connection.
 *
 *     const client = createClient({ server: "127.0.0.1:7071" });
 *     const { jobs } = await client.submitJobs({ jobs: [{ spec: { command: ["true"] } }] });
 *     client.close();
 */
export const createClient = (options: ClientOptions): BusbarClient => bindClient(Channel, options);
