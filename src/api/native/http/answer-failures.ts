import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import type { Socket } from "node:net";
import { AppError, describeChain, type ErrorCode } from "../../../lib/errors.ts";
import { toHttpError } from "../status.ts";
import { createAllowedMethods } from "./allowed-methods.ts";
import { type Failure, toFailure } from "./failure.ts";
import type { HttpHost } from "./host.ts";
import type { App } from "./typebox-provider.ts";

const outcomes = new WeakMap<object, ErrorCode>();

/** How a request ended, for the counters. */
export const outcomeOf = (reply: FastifyReply): ErrorCode | "ok" => outcomes.get(reply.raw) ?? "ok";

/** Every refusal is JSON of one shape, whoever refuses. */
export function answerFailures(app: App, { logger }: HttpHost): void {
  const methods = createAllowedMethods();
  app.addHook("onRoute", (route) => methods.add(route.url, [route.method].flat()));
  app.setErrorHandler((thrown, request, reply) => {
    const failure = toFailure(thrown, request);
    if (failure.error.code === "internal") {
      const fields = { method: request.method, url: request.routeOptions.url };
      const stack = thrown instanceof Error ? thrown.stack : undefined;
      logger.error({ ...fields, error: describeChain(thrown), stack }, "request failed");
    }
    return answer(reply, failure);
  });
  app.setNotFoundHandler((request, reply) => {
    const [path = ""] = request.url.split("?");
    const allowed = methods.of(path);
    if (allowed.length > 0) reply.header("allow", allowed.join(", "));
    return answer(reply, noRoute(request, path, allowed));
  });
}

function noRoute(request: FastifyRequest, path: string, allowed: readonly string[]): Failure {
  const shown = path.slice(0, 200);
  if (allowed.length === 0) {
    const message = `there is nothing at ${shown}; /docs shows what there is`;
    return { error: new AppError("not_found", message), status: 404 };
  }
  const message = `${shown} does not take ${request.method}, only ${allowed.join(", ")}`;
  return { error: new AppError("invalid_argument", message), status: 405 };
}

function answer(reply: FastifyReply, { error, status }: Failure): FastifyReply {
  outcomes.set(reply.raw, error.code);
  return reply.code(status).type("application/json; charset=utf-8").send(toHttpError(error));
}

const NOT_HTTP = { status: "400 Bad Request", message: "this is not HTTP" };
const NO_REQUEST: Readonly<Record<string, typeof NOT_HTTP>> = {
  HPE_HEADER_OVERFLOW: {
    status: "431 Request Header Fields Too Large",
    message: "the address and headers have too many bytes",
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: "408 Request Timeout",
    message: "the request did not arrive in time",
  },
};

/** What goes wrong before there is a request: a URL that cannot be read, or no HTTP at all. */
export const answerHttpMistakes = {
  frameworkErrors(error: FastifyError, _: FastifyRequest, reply: FastifyReply): void {
    const status = error.statusCode ?? 400;
    const refusal = new AppError("invalid_argument", error.message, { cause: error });
    void answer(reply, { error: refusal, status });
  },
  clientErrorHandler(error: Error & { readonly code?: string }, socket: Socket): void {
    if (error.code === "ECONNRESET" || socket.destroyed) return;
    const { status, message } = NO_REQUEST[error.code ?? ""] ?? NOT_HTTP;
    const body = JSON.stringify(toHttpError(new AppError("invalid_argument", message)));
    const headers = `Content-Length: ${body.length}\r\nContent-Type: application/json`;
    if (socket.writable) {
      socket.write(`HTTP/1.1 ${status}\r\n${headers}\r\nConnection: close\r\n\r\n${body}`);
    }
    socket.destroy(error);
  },
};
