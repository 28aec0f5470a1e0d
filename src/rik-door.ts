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

/** Where workers, controllers and REST users of rik are served. */
export interface RikPorts {
  readonly workers: string;
  readonly controllers: string;
  readonly rest: string;
  /** That callers show; undefined: they are asked for nothing. */
  readonly secret: string | undefined;
  /** Whether they may be asked for nothing where others than this machine can reach them. */
  readonly isInsecure: boolean;
  /** Whether a controller that subscribes receives the status of its instances. */
  readonly replays: boolean;
}

/** Where they are in the end. */
export interface RikAddresses {
  readonly workers: string;
  readonly controllers: string;
  readonly rest: string;
}

interface Options {
  readonly data: string;
  readonly grpc: string;
  readonly rik?: RikPorts | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Its code is loaded where it is asked for. */
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
      "whoever can reach rik's ports may run containers on its workers: nobody is asked for a token",
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
  // The second reader of each connection costs something: only where there is something to read.
  const both = { keepalive: KEEPALIVE, readsUserParts: ports.secret !== undefined };
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
  const { createRikRest } = await import("./api/rik/rest/server.ts");
  const { logger } = shared;
  const rest = await open(
    createRikRest({ ...door, address: ports.rest, hostNames, logger, traffic }),
  );
  return { workers: workers.address, controllers: controllers.address, rest: rest.address };
}

/** Where nobody is asked for a token, only on ports that this machine alone can reach, unless that is allowed. */
export const isRikOnMain = ({ grpc, rik }: Options): boolean =>
  rik?.isInsecure === true ||
  rik?.secret !== undefined ||
  isLoopback(parseAddress(grpc, "--grpc").host);
