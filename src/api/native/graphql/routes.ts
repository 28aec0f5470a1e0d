import type { FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../../../lib/errors.ts";
import { Lazy } from "../../../lib/lazy.ts";
import { limits } from "../../../limits.ts";
import type { HttpHost } from "../http/guards/host.ts";
import type { App } from "../http/schemas/typebox-provider.ts";
import type { GraphqlExtension } from "../../web/graphql-extension.ts";
import type { GraphqlAnswer } from "./engine.ts";
import { explorerRoutes, sendExplorer } from "./explorer.ts";
import { type GraphqlRequest, requestOfBody, requestOfQuery } from "./request.ts";

export interface GraphqlDoor {
  readonly heartbeatMs: number;
  /** Additions of other doors to the schema; loaded with it. */
  readonly extend: readonly (() => Promise<GraphqlExtension>)[];
}

/** The second and third are the paths of the Nexus runtime. */
const PATHS = ["/graphql", "/apis/graphql/v1/query", "/query"];
const PLAYGROUND = "/apis/graphql/v1";

const SSE = "text/event-stream";
const RESPONSE = "application/graphql-response+json";

/** GraphQL over HTTP. The first request loads its library, which takes time and memory. */
export function graphqlRoutes(app: App, host: HttpHost, door: GraphqlDoor): void {
  const loaded = new Lazy(async () => {
    const [{ GraphqlEngine }, streams, ...extensions] = await Promise.all([
      import("./engine.ts"),
      import("./subscriptions.ts"),
      ...door.extend.map((load) => load()),
    ]);
    const engine = new GraphqlEngine(host.logger, extensions);
    return { engine, streams, formats: new streams.OpenFormats() };
  });

  const answer = async (
    request: FastifyRequest,
    reply: FastifyReply,
    read: () => GraphqlRequest,
  ): Promise<unknown> => {
    const { engine, streams, formats } = await loaded.get();
    const isStream = accepts(request, SSE);
    const run = async (): Promise<GraphqlAnswer | undefined> => {
      const prepared = engine.prepare(read());
      const { kind } = prepared;
      if (isStream && kind === "subscription") {
        const { heartbeatMs } = door;
        streams.openSubscription({ engine, formats, host, heartbeatMs }, prepared, request, reply);
        return undefined;
      }
      if (request.method === "GET" && kind === "mutation") {
        throw new AppError("invalid_argument", "changes are sent with POST", { field: "query" });
      }
      return engine.run(prepared, request.operations);
    };
    const told = await run().catch((error: unknown) => engine.refusal(error));
    if (told === undefined) return reply;
    reply.header("cache-control", "no-store").header("vary", "accept");
    if (isStream) return reply.type(`${SSE}; charset=utf-8`).send(streams.wholeStream(told));
    const isNew = accepts(request, RESPONSE);
    // A client of the older media type treats any other status as a network fault.
    if (isNew && !("data" in told)) reply.code(400);
    return reply
      .type(`${isNew ? RESPONSE : "application/json"}; charset=utf-8`)
      .send(JSON.stringify(told));
  };

  for (const path of PATHS) {
    app.get(path, { exposeHeadRoute: false, schema: { hide: true } }, async (request, reply) => {
      const query = request.query as Readonly<Record<string, unknown>>;
      const isPage = query["query"] === undefined && query["extensions"] === undefined;
      if (isPage && accepts(request, "text/html")) return sendExplorer(reply);
      return answer(request, reply, () => requestOfQuery(query));
    });
    app.post(
      path,
      { bodyLimit: limits.graphqlBodyBytesMax, schema: { hide: true } },
      (request, reply) => answer(request, reply, () => requestOfBody(request.body)),
    );
  }
  app.get(PLAYGROUND, { exposeHeadRoute: false, schema: { hide: true } }, (_, reply) =>
    sendExplorer(reply),
  );
  explorerRoutes(app);
}

/** By name: a client that accepts anything gets the default type. */
const accepts = ({ headers }: FastifyRequest, type: string): boolean =>
  headers.accept?.toLowerCase().includes(type) === true;
