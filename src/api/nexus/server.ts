import type { IncomingMessage, ServerResponse } from "node:http";
import { parseAddress } from "../../lib/address.ts";
import { AppError, describeChain } from "../../lib/errors.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Logger } from "../../ports/logger.ts";
import type { Operations, OperationsAccess } from "../../server/operations/operations.ts";
import { SERVER } from "../../core/access/principal.ts";
import { byAddress, type Identify } from "../grpc/identify.ts";
import { type CallMemory, createCallMemory, memoryOf } from "../grpc/memory/call-memory.ts";
import { addressOf } from "../grpc/peer-address.ts";
import type { Traffic } from "../grpc/traffic.ts";
import { refuseForeignPages } from "../web/browser-guard.ts";
import { listenHttp } from "../web/http-listener.ts";
import { toFailure, toStatus } from "./documents/status.ts";
import { servedAt } from "./model/kinds.ts";
import { type Exchange, readPath, send } from "./http/exchange.ts";
import { route, type Routes } from "./http/routes.ts";
import { Formats } from "./http/watch-events.ts";
import { OldEdges } from "./edges/old-edges.ts";
import { Writer } from "./write/writer.ts";
import type { AgentSessions } from "../../server/sessions/agent-sessions.ts";
import { openTree } from "./tree/open-tree.ts";
import { Reader } from "./tree/reader.ts";
import { NoteSweeper } from "./tree/sweeper.ts";

export interface NexusOptions {
  readonly operations: OperationsAccess;
  /** Connects edges of old agents. */
  readonly sessions: AgentSessions;
  /** The id of this server, stored with its data: it recognizes edges of old agents by it. */
  readonly secret: string;
  /** Whether an external scheduler creates JobInfos. The control plane must know it too. */
  readonly isSchedulerExternal?: boolean | undefined;
  readonly identify?: Identify | undefined;
  /** The address to listen on: "127.0.0.1:8000". */
  readonly address: string;
  readonly hostNames?: readonly string[] | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
  readonly traffic: Traffic;
  readonly memory?: CallMemory | undefined;
  /** The text of GET /metrics. */
  readonly metrics?: ((operations: Operations) => Promise<string>) | undefined;
  readonly onClosed?: () => void;
  readonly drainMs?: number;
}

export interface NexusServer {
  readonly address: string;
  /** Its routes, for the gateway and for GraphQL. */
  readonly routes: Routes;
  /** For tests, like the sweeper. */
  readonly edges: OldEdges;
  readonly sweeper: NoteSweeper;
  close(): Promise<void>;
}

/** Serves the tree in the style of Kubernetes. */
export async function createNexusServer(options: NexusOptions): Promise<NexusServer> {
  const { operations, clock, logger, version } = options;
  const { host } = parseAddress(options.address, "--nexus");
  const { memory = createCallMemory(), identify = byAddress } = options;
  const nowMs = (): number => clock.nowMs();
  const open = await openTree(operations.as(SERVER), nowMs);
  const closing = new AbortController();
  const reader = new Reader({ ...open, nowMs });
  const edges = new OldEdges({
    sessions: options.sessions,
    tree: open.tree,
    secret: options.secret,
    nowMs,
    logger,
  });
  const sweeper = new NoteSweeper(operations.as(SERVER), open.tree, logger);
  const routes: Routes = {
    reader,
    writer: new Writer({
      reader,
      edges,
      nowMs,
      isSchedulerExternal: options.isSchedulerExternal ?? false,
    }),
    nowMs,
    version,
    formats: new Formats(open.tree, nowMs),
    closing: closing.signal,
    memoryOf: memoryOf(memory),
    metrics: options.metrics,
    opened: ({ kind }, agent) => (kind === "JobInfo" ? edges.watched(agent) : () => undefined),
  };
  const names = { listenHost: host, hostNames: options.hostNames ?? [] };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const startedMs = performance.now();
    let exchange: Exchange | undefined;
    let name = "unmatched";
    let code: AppError["code"] | "ok" = "ok";
    try {
      if (closing.signal.aborted) throw new AppError("unavailable", "the server is stopping");
      refuseForeignPages(request, names);
      const address = addressOf(`${request.socket.remoteAddress}:`);
      const principal = identify({ address, headers: request.headers });
      const asked = readPath(request.url);
      exchange = { request, response, ...asked, operations: operations.as(principal) };
      const routed = route(routes, exchange);
      name = routed.name;
      const answered = await routed.answer;
      if (answered !== undefined) send(exchange, answered);
    } catch (error) {
      const known = AppError.from(error, "nexus");
      ({ code } = known);
      if (code === "internal")
        logger.error({ error: describeChain(error) }, "nexus request failed");
      refuse(exchange ?? { request, response }, known);
    } finally {
      options.traffic.record("http", `nexus ${name}`, { code, ms: performance.now() - startedMs });
    }
  };
  const stop = (): void => {
    sweeper.close();
    edges.close();
    open.close();
  };
  const listening = listenHttp({
    address: options.address,
    flag: "--nexus",
    serve,
    drainMs: options.drainMs,
  });
  const listener = await listening.catch((error: unknown) => {
    stop();
    throw error;
  });
  const close = async (): Promise<void> => {
    closing.abort();
    await listener.close();
    stop();
    options.onClosed?.();
  };
  let closed: Promise<void> | undefined;
  return {
    routes,
    edges,
    sweeper,
    address: listener.address,
    close: () => (closed ??= close()),
  };
}

function refuse(
  { request, response, path = [] }: Pick<Exchange, "request" | "response"> & Partial<Exchange>,
  error: AppError,
): void {
  if (response.headersSent) {
    // Half a list must not look like a whole one.
    response.destroy();
    return;
  }
  const [, group = "", , plural = "", name] = path;
  const kind = servedAt(group, plural)?.kind.kind;
  const failure = toFailure(error, kind && { group, kind, name });
  const retry: Record<string, string> =
    failure.code === 429 || failure.code === 503 ? { "retry-after": "1" } : {};
  send(
    { request, response },
    {
      status: failure.code,
      body: toStatus(failure),
      headers: retry,
    },
  );
  request.resume();
}
