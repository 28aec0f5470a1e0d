import { bindClient } from "./bind-service.ts";
import type { BusbarClient, ClientOptions } from "./client.ts";
import { LeanChannel } from "./grpc/lean/lean-channel.ts";

/** The client of a program that starts, makes a few calls and ends: it loads a third of the other's code. */
export const createLeanClient = (options: ClientOptions): BusbarClient =>
  bindClient(LeanChannel, options);
