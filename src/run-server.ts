import { join } from "node:path";
import manifest from "../package.json" with { type: "json" };
import { readAgentKey } from "./agent/identity.ts";
import { agentService } from "./api/native/grpc/agent-service.ts";
import { processConnections } from "./api/grpc/connections/limit-connections.ts";
import { createGrpcServer, type GrpcServer, type GrpcServerOptions } from "./api/grpc/server.ts";
import type { GrpcService } from "./api/grpc/service.ts";
import { type CallMemory, createCallMemory, releasedBytes } from "./api/grpc/memory/call-memory.ts";
import { createHttpServer } from "./api/native/http/http-server.ts";
import { busbarService } from "./api/native/grpc/service.ts";
import { createTraffic, type Traffic } from "./api/grpc/traffic.ts";
import { Previews } from "./api/goschedule/lists/previews.ts";
import { goScheduleService, type GoScheduleSettings } from "./api/goschedule/service.ts";
import { rainbowServices } from "./api/rainbow/service.ts";
import type { HttpListener } from "./api/web/http-listener.ts";
import type { NexusServer } from "./api/nexus/server.ts";
import { nodeId } from "./core/model/ids.ts";
import type { PolicyNames } from "./core/scheduler/policy.ts";
import type { LinkTimes } from "./core/model/node/heartbeat.ts";
import type { TickSettings } from "./core/state/command.ts";
import { createWorkers } from "./go-schedule-workers.ts";
import { openOidcGuard } from "./nexus-oidc.ts";
import {
  isRikOnMain,
  openRik,
  openRikPorts,
  type RikAddresses,
  type RikPorts,
} from "./rik-door.ts";
import { isLoopback, parseAddress } from "./lib/address.ts";
import type { AppError } from "./lib/errors.ts";
import { limits } from "./limits.ts";
import type { Clock } from "./ports/clock.ts";
import type { Logger } from "./ports/logger.ts";
import type { Store } from "./ports/store.ts";
import type { ControlPlane } from "./server/control-plane.ts";
import { openControlPlane } from "./server/control-plane.ts";
import {
  prepareRainbowSecrets,
  type RainbowSecretSources,
} from "./server/credentials/rainbow-secrets.ts";
import { startupStep } from "./server/loop/startup-step.ts";
import { collectWhenIdle } from "./system/idle-collector.ts";
import { logRefusedConnections } from "./system/log-refused-connections.ts";
import { createThreadReader } from "./server/readers/thread-reader.ts";
import { createSystemRandom } from "./system/random.ts";
import { createSecretHasher } from "./system/secret-hasher.ts";

export interface ServerOptions {
  readonly data: string;
  /** The store in `data`; the server closes it. */
  readonly opening: Promise<Store>;
  readonly http: string;
  readonly grpc: string;
  /** Names that REST may be called by, beside the usual ones. */
  readonly hostNames?: readonly string[] | undefined;
  readonly settings: TickSettings;
  /** Of links to agents that name no times of their own. */
  readonly linkTimes?: LinkTimes | undefined;
  /** Without a byte on a connection until it is pinged; undefined: as limits have it. */
  readonly keepaliveMs?: number | undefined;
  readonly policies: PolicyNames;
  /** undefined: rainbow's clients are not served at all. */
  readonly rainbowSecrets?: RainbowSecretSources | undefined;
  /** How long a job shown to one receiver is hidden from others; undefined: never hidden. */
  readonly rainbowVisibilityMs?: number | undefined;
  /** A port for clients of rainbow, which are served on `grpc` too; undefined: only there. */
  readonly rainbow?: Pick<GrpcServerOptions, "address" | "tls"> | undefined;
  /** A port for go-schedule's workers and clients; undefined: they are not served at all. */
  readonly goSchedule?: GoScheduleDoor | undefined;
  /** A port for kubectl, and for edges and clients of nexus; undefined: they are not served at all. */
  readonly nexus?: NexusDoor | undefined;
  /** Ports for workers, controllers and REST users of rik; undefined: they are not served at all. */
  readonly rik?: RikPorts | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface NexusDoor {
  readonly address: string;
  /** Of its REST gateway, and of pages that may call it. */
  readonly rest: string;
  readonly origins: readonly string[];
  /** Describes the OpenID provider whose tokens its callers show; undefined: it asks for no token. */
  readonly oidcFile?: string | undefined;
  readonly isInsecure: boolean;
  /** Whether another scheduler assigns shares of jobs with energy. */
  readonly isSchedulerExternal: boolean;
}

interface GoScheduleDoor extends Pick<GrpcServerOptions, "address" | "tls"> {
  /** Whether it may be on `grpc` too where others than this machine can reach that. */
  readonly isInsecure: boolean;
  readonly settings: GoScheduleSettings;
}

export interface RunningServer {
  readonly httpAddress: string;
  readonly grpcAddress: string;
  readonly rainbowAddress: string | undefined;
  readonly goScheduleAddress: string | undefined;
  readonly nexusAddress: string | undefined;
  readonly nexusRestAddress: string | undefined;
  readonly rik: RikAddresses | undefined;
  /** The file with the register secret for clients of rainbow, if there is one. */
  readonly rainbowSecretFile: string | undefined;
  /** Whether the node has an agent here at this moment. */
  isConnected(node: string): boolean;
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
  broken.promise.catch(() => undefined); // callers that wait for `closed` get the error
  const plane = await openPlane(options, broken.reject);
  const memory = createCallMemory();
  const opened = async () => {
    const rainbowSecretFile = await openSecrets(plane, options);
    return { ...(await openDoors(plane, options, memory)), rainbowSecretFile };
  };
  const doors = await opened().catch(async (error: unknown) => {
    await plane.close();
    throw error;
  });
  const stopped = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
  const stopCollecting = collectWhenIdle(options.clock, () => releasedBytes(memory));
  const stopLogging = logRefusedConnections(processConnections, options);
  const serve = async (): Promise<void> => {
    try {
      await Promise.race([stopped, broken.promise]);
    } finally {
      logger.info({}, "stopping");
      stopCollecting();
      stopLogging();
      await doors.close();
      await plane.close();
    }
  };
  const closed = serve();
  closed.catch(() => undefined);
  const { close: _, ...told } = doors;
  const isConnected = (node: string) => plane.sessions.isConnected(nodeId(node));
  return { ...told, isConnected, closed };
}

async function openPlane(
  { data, opening, clock, logger, policies, settings, linkTimes, nexus }: ServerOptions,
  onBroken: (error: AppError) => void,
): Promise<ControlPlane> {
  const step = {
    what: `the database in ${data} to open`,
    advice: "check that its disk responds, and that no other process holds it",
  };
  const store = await startupStep(step, opening, { clock, logger });
  try {
    return await openControlPlane({
      store,
      clock,
      logger,
      version: manifest.version,
      policies: { ...policies, isEnergyExternal: nexus?.isSchedulerExternal ?? false },
      random: createSystemRandom(),
      hasher: createSecretHasher(),
      reader: createThreadReader(clock),
      settings,
      linkTimes,
      soon: (run) => setImmediate(run),
      onBroken,
    });
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Runs before the server accepts credentials. */
async function openSecrets(
  { operations, authenticator }: ControlPlane,
  { rainbowSecrets: sources, logger }: ServerOptions,
): Promise<string | undefined> {
  if (sources === undefined) return undefined;
  const random = createSystemRandom();
  return prepareRainbowSecrets(sources, { operations, authenticator, random, logger });
}

async function openDoors(plane: ControlPlane, options: ServerOptions, memory: CallMemory) {
  const { operations, authenticator, sessions } = plane;
  const { logger } = options;
  const traffic = createTraffic();
  const fraction = createSystemRandom().fraction();
  const { rainbowVisibilityMs: visibilityMs } = options;
  const doorOptions = { operations, authenticator, logger, traffic, fraction, visibilityMs };
  const rainbow = rainbowServices(doorOptions);
  const native = [
    busbarService(operations, logger, traffic),
    agentService(sessions, logger, traffic),
  ];
  const goSchedule = goScheduleServices(plane, options, traffic);
  const rik = await openRik(plane, options, traffic);
  const opened: { close(): Promise<void> }[] = [];
  const open = async <Server extends { close(): Promise<void> }>(
    opening: Promise<Server>,
  ): Promise<Server> => {
    const step = { what: "a port to listen on", advice: "check the addresses of its flags" };
    const server = await startupStep(step, opening, options);
    opened.push(server);
    return server;
  };
  const close = async (): Promise<void> => {
    // The server first notifies agents that it stops, so that they reconnect soon.
    sessions.close();
    await Promise.all(opened.map((server) => server.close()));
    rik?.close();
  };
  const { keepaliveMs: intervalMs } = options;
  const keepalive =
    intervalMs === undefined
      ? {}
      : {
          keepalive: { intervalMs, timeoutMs: Math.max(intervalMs, limits.grpcKeepaliveTimeoutMs) },
        };
  try {
    const services = [
      ...native,
      ...(options.rainbowSecrets === undefined ? [] : rainbow),
      ...(mayBeOnMain(options) ? goSchedule : []),
      ...(rik !== undefined && isRikOnMain(options) ? [rik.worker, rik.controller] : []),
    ];
    const grpc = await open(
      createGrpcServer({ address: options.grpc, services, logger, memory, ...keepalive }),
    );
    const openDoor = async (
      door: Pick<GrpcServerOptions, "address" | "tls"> | undefined,
      flag: string,
      served: readonly GrpcService[],
    ): Promise<GrpcServer | undefined> =>
      door &&
      open(createGrpcServer({ ...door, flag, services: served, logger, memory, ...keepalive }));
    const old = await openDoor(options.rainbow, "--rainbow", rainbow);
    const workers = await openDoor(options.goSchedule, "--go-schedule", goSchedule);
    const rikAddresses =
      rik &&
      options.rik &&
      (await openRikPorts(rik, options.rik, {
        open,
        logger,
        memory,
        traffic,
        hostNames: options.hostNames,
      }));
    const { version } = manifest;
    const { http: address, hostNames } = options;
    const nexus = await openNexus(plane, options, { traffic, memory, open });
    const gateway = await openGateway(plane, options, { nexus, traffic, open });
    const shared = { operations, address, hostNames, logger, version, traffic, memory };
    const http = await open(
      createHttpServer({ ...shared, graphqlExtensions: graphqlExtensionsOf(nexus) }),
    );
    return {
      httpAddress: http.address,
      grpcAddress: grpc.address,
      rainbowAddress: old?.address,
      goScheduleAddress: workers?.address,
      nexusAddress: nexus?.address,
      nexusRestAddress: gateway?.address,
      rik: rikAddresses,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The same tree by the routes of its data model. */
async function openGateway(
  { operations }: ControlPlane,
  { nexus: door, hostNames, clock, logger }: ServerOptions,
  {
    nexus,
    traffic,
    open,
  }: {
    readonly nexus: NexusServer | undefined;
    readonly traffic: Traffic;
    readonly open: (opening: Promise<HttpListener>) => Promise<HttpListener>;
  },
): Promise<HttpListener | undefined> {
  if (nexus === undefined || door === undefined) return undefined;
  const { createNexusGateway } = await import("./api/nexus/gateway/gateway.ts");
  const { rest: address, origins, oidcFile } = door;
  const { routes } = nexus;
  const guard = await openOidcGuard(oidcFile, { clock, logger });
  return open(
    createNexusGateway({ operations, address, hostNames, origins, guard, routes, logger, traffic }),
  );
}

/** What GraphQL shows beside Busbar's own model. */
const graphqlExtensionsOf = (nexus: NexusServer | undefined) =>
  nexus === undefined
    ? []
    : [
        async () => {
          const { nexusExtension } = await import("./api/nexus/graphql/extension.ts");
          return nexusExtension(nexus.routes);
        },
      ];

/** Loaded only when the door is enabled. */
async function openNexus(
  { operations, sessions }: ControlPlane,
  { nexus, data, hostNames, clock, logger }: ServerOptions,
  shared: {
    readonly traffic: Traffic;
    readonly memory: CallMemory;
    readonly open: (opening: Promise<NexusServer>) => Promise<NexusServer>;
  },
): Promise<NexusServer | undefined> {
  if (nexus === undefined) return undefined;
  const { address, isInsecure, isSchedulerExternal } = nexus;
  if (isInsecure) {
    logger.warn(
      { address, flag: "--nexus-insecure" },
      "every client that can reach this port can submit and delete jobs: this API has no users",
    );
  }
  const { createNexusServer } = await import("./api/nexus/server.ts");
  const { renderMetrics } = await import("./api/native/http/render-metrics.ts");
  const { traffic, memory } = shared;
  const { version } = manifest;
  const metrics = renderMetrics(traffic);
  return shared.open(
    createNexusServer({
      operations,
      sessions,
      isSchedulerExternal,
      secret: readAgentKey(join(data, "nexus"), createSystemRandom()),
      address,
      hostNames,
      clock,
      logger,
      version,
      traffic,
      memory,
      metrics,
      onClosed: () => metrics.close(),
    }),
  );
}

function goScheduleServices(
  { operations, sessions }: ControlPlane,
  { data, goSchedule, clock, logger }: ServerOptions,
  traffic: Traffic,
): readonly GrpcService[] {
  if (goSchedule === undefined) return [];
  const { address, isInsecure, settings } = goSchedule;
  if (isInsecure) {
    logger.warn(
      { address, flag: "--go-schedule-insecure" },
      "every client that can reach this server can run any command on go-schedule's workers",
    );
  }
  const previews = new Previews();
  const adapters = { clock, random: createSystemRandom(), logger };
  const attach = createWorkers({
    data,
    sessions,
    onHeads: (id, heads) => previews.put(id, heads),
    ...adapters,
  });
  return [goScheduleService({ operations, traffic, settings, previews, attach, ...adapters })];
}

/** Its wire has no credentials. */
const mayBeOnMain = ({ grpc, goSchedule }: ServerOptions): boolean =>
  goSchedule?.isInsecure === true || isLoopback(parseAddress(grpc, "--grpc").host);
