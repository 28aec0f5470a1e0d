import { join } from "node:path";
import { readAgentKey } from "./agent/identity.ts";
import type { CallMemory } from "./api/grpc/memory/call-memory.ts";
import { createGrpcServer } from "./api/grpc/server.ts";
import type { Traffic } from "./api/grpc/traffic.ts";
import type { RikDoor } from "./api/rik/door.ts";
import { isLoopback, parseAddress } from "./lib/address.ts";
import { limits } from "./limits.ts";
import type { Clock } from "./ports/clock.ts";
import type { Logger } from "./ports/logger.ts";
import type { ControlPlane } from "./server/control-plane.ts";
import { createSystemRandom } from "./system/random.ts";

/** Where workers, controllers and REST users of rik are served; `rest` undefined: these are not. */
export interface RikPorts {
  readonly workers: string;
  readonly controllers: string;
  readonly rest?: string | undefined;
  /** The secret that callers must present; undefined: none is required. */
  readonly secret: string | undefined;
  /** Whether the ports may be open without a secret beyond this machine. */
  readonly isInsecure: boolean;
  /** Whether a controller that subscribes receives the status of its instances. */
  readonly replays: boolean;
}

/** The bound addresses. */
export interface RikAddresses {
  readonly workers: string;
  readonly controllers: string;
  readonly rest: string | undefined;
}

interface Options {
  readonly data: string;
  readonly grpc: string;
  readonly rik?: RikPorts | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Loaded only when the door is enabled. */
export async function openRik(
  { operations, sessions }: ControlPlane,
  { data, rik, clock, logger }: Options,
  traffic: Traffic,
): Promise<RikDoor | undefined> {
  if (rik === undefined) return undefined;
  const { secret, isInsecure, replays } = rik;
  if (isInsecure && secret === undefined) {
    logger.warn(
      { flag: "--rik-insecure" },
      "every client that can reach the rik ports can run containers on its workers: no token is required",
    );
  }
  const { openRikDoor, RIK_SETTINGS } = await import("./api/rik/door.ts");
  const random = createSystemRandom();
  return openRikDoor({
    operations,
    sessions,
    agentSecret: readAgentKey(join(data, "rik"), random),
    secret,
    settings: { ...RIK_SETTINGS, replays },
    clock,
    random,
    logger,
    traffic,
  });
}

/** rik's programs send nothing by themselves for long, and one that is frozen must be noticed soon. */
const KEEPALIVE = { intervalMs: limits.rikPingMs, timeoutMs: limits.rikPingTimeoutMs };

export async function openRikPorts(
  door: RikDoor,
  ports: RikPorts,
  {
    open,
    traffic,
    hostNames,
    ...shared
  }: {
    readonly open: <Server extends { close(): Promise<void> }>(
      opening: Promise<Server>,
    ) => Promise<Server>;
    readonly logger: Logger;
    readonly memory: CallMemory;
    readonly traffic: Traffic;
    readonly hostNames: readonly string[] | undefined;
  },
): Promise<RikAddresses> {
  // Also without a secret: programs may have a user part left in their settings.
  const both = { keepalive: KEEPALIVE, readsUserParts: true };
  const workers = await open(
    createGrpcServer({
      address: ports.workers,
      flag: "--rik",
      services: [door.worker],
      ...shared,
      ...both,
    }),
  );
  const controllers = await open(
    createGrpcServer({
      address: ports.controllers,
      flag: "--rik-controller",
      services: [door.controller],
      ...shared,
      ...both,
    }),
  );
  const bound = { workers: workers.address, controllers: controllers.address };
  const { rest: address } = ports;
  if (address === undefined) return { ...bound, rest: undefined };
  const { createRikRest } = await import("./api/rik/rest/server.ts");
  const rest = await open(createRikRest({ ...door, address, hostNames, traffic, ...shared }));
  return { ...bound, rest: rest.address };
}

/** Without a secret the ports must be on loopback, unless `--rik-insecure` allows others. */
export const isRikOnMain = ({ grpc, rik }: Options): boolean =>
  rik?.isInsecure === true ||
  rik?.secret !== undefined ||
  isLoopback(parseAddress(grpc, "--grpc").host);
