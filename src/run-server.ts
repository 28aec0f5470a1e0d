import manifest from "../package.json" with { type: "json" };
import { agentService } from "./api/native/agent-service.ts";
import { createGrpcServer } from "./api/grpc/server.ts";
import { createHttpServer } from "./api/native/http-server.ts";
import { busbarService } from "./api/native/service.ts";
import { createTraffic } from "./api/grpc/traffic.ts";
import type { PolicyNames } from "./core/scheduler/policy.ts";
import type { TickSettings } from "./core/state/command.ts";
import type { AppError } from "./lib/errors.ts";
import type { Clock } from "./ports/clock.ts";
import type { Logger } from "./ports/logger.ts";
import type { ControlPlane } from "./server/control-plane.ts";
import { openControlPlane } from "./server/control-plane.ts";
import { prepareRainbowSecrets, type RainbowSecretSources } from "./server/rainbow-secrets.ts";
import { collectWhenIdle } from "./system/idle-collector.ts";
import { createSqliteStore } from "./store/sqlite/sqlite-store.ts";
import { createSystemRandom } from "./system/random.ts";
import { createScryptHasher } from "./system/scrypt-hasher.ts";

export interface ServerOptions {
  readonly data: string;
  readonly http: string;
  readonly grpc: string;
  readonly settings: TickSettings;
  readonly policies: PolicyNames;
  /** undefined: nobody is let in by them. */
  readonly rainbowSecrets?: RainbowSecretSources | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface RunningServer {
  readonly httpAddress: string;
  readonly grpcAddress: string;
  /** Where the register secret for clients of rainbow is found, if it is in a file. */
  readonly rainbowSecretFile: string | undefined;
  /** Resolves when the server has stopped in order; rejects when it could not go on. */
  readonly closed: Promise<void>;
}

/** A control plane over the embedded store, with the native door on its two ports. */
export async function runServer(
  options: ServerOptions,
  signal: AbortSignal,
): Promise<RunningServer> {
  const { logger } = options;
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined); // whoever waits for `closed` hears of it
  const plane = await openPlane(options, broken.reject);
  const opened = async () => {
    const rainbowSecretFile = await openSecrets(plane, options);
    return { ...(await openDoors(plane, options)), rainbowSecretFile };
  };
  const doors = await opened().catch(async (error: unknown) => {
    await plane.close();
    throw error;
  });
  const stopped = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
  const stopCollecting = collectWhenIdle(options.clock);
  const serve = async (): Promise<void> => {
    try {
      await Promise.race([stopped, broken.promise]);
    } finally {
      logger.info({}, "stopping");
      stopCollecting();
      await doors.close();
      await plane.close();
    }
  };
  const closed = serve();
  closed.catch(() => undefined);
  const { httpAddress, grpcAddress, rainbowSecretFile } = doors;
  return { httpAddress, grpcAddress, rainbowSecretFile, closed };
}

async function openPlane(
  { data, clock, logger, policies, settings }: ServerOptions,
  onBroken: (error: AppError) => void,
): Promise<ControlPlane> {
  const store = await createSqliteStore({ directory: data, logger });
  try {
    return await openControlPlane({
      store,
      clock,
      logger,
      version: manifest.version,
      policies,
      random: createSystemRandom(),
      hasher: createScryptHasher(),
      settings,
      soon: (run) => setImmediate(run),
      onBroken,
    });
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Before anybody can show one. */
async function openSecrets(
  { operations }: ControlPlane,
  { rainbowSecrets: sources, logger }: ServerOptions,
): Promise<string | undefined> {
  if (sources === undefined) return undefined;
  return prepareRainbowSecrets(sources, { operations, random: createSystemRandom(), logger });
}

async function openDoors({ operations, sessions }: ControlPlane, options: ServerOptions) {
  const { logger } = options;
  const traffic = createTraffic();
  const grpc = await createGrpcServer({
    address: options.grpc,
    services: [busbarService(operations, logger, traffic), agentService(sessions, logger, traffic)],
    logger,
  });
  try {
    const { version } = manifest;
    const http = await createHttpServer({
      operations,
      address: options.http,
      logger,
      version,
      traffic,
    });
    const close = async (): Promise<void> => {
      // Agents are told first that the server stops, so that they come back soon.
      sessions.close();
      await Promise.all([http.close(), grpc.close()]);
    };
    return { httpAddress: http.address, grpcAddress: grpc.address, close };
  } catch (error) {
    await grpc.close();
    throw error;
  }
}
