import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { AppError, describeChain, type ErrorCode } from "../../../../lib/errors.ts";
import { toHttpError } from "../../status.ts";
import { createAllowedMethods } from "./allowed-methods.ts";
import { type HttpFailure, toFailure } from "./failure.ts";
import type { HttpHost } from "./host.ts";
import { endUnread } from "../memory.ts";
import type { App } from "../schemas/typebox-provider.ts";

/** For programs that honour it: limits are reached for moments, and servers start within seconds. */
const RETRY_AFTER_SECONDS = 1;
const outcomes = new WeakMap<object, ErrorCode>();

/** How a request ended, for the counters. */
export const outcomeOf = (reply: FastifyReply): ErrorCode | "ok" => outcomes.get(reply.raw) ?? "ok";

/** Every error is JSON of one shape, whichever part rejects the request. */
export function answerFailures(app: App, { logger }: HttpHost): void {
  const methods = createAllowedMethods();
  app.addHook("onRoute", (route) => methods.add(route.url, [route.method].flat()));
  const answerNoRoute = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const path = pathOf(request);
    const allowed = methods.of(path);
    if (allowed.length > 0) reply.header("allow", allowed.join(", "));
    return answer(reply, noRoute(request, path, allowed));
  };
  app.addHook("onRequest", async (request, reply) => {
    if (request.is404 || !request.routeOptions.url?.includes(":")) return undefined;
    return methods.of(pathOf(request)).includes(request.method)
      ? undefined
      : answerNoRoute(request, reply);
  });
  app.setErrorHandler((thrown, request, reply) => {
    // The framework checks the body of a request before it reports that no route matches.
    if (request.is404 && !(thrown instanceof AppError)) return answerNoRoute(request, reply);
    const failure = toFailure(thrown, request);
    if (failure.error.code === "internal") {
      const fields = { method: request.method, url: request.routeOptions.url };
      const stack = thrown instanceof Error ? thrown.stack : undefined;
      logger.error({ ...fields, error: describeChain(thrown), stack }, "request failed");
    }
    endUnread(request, reply);
    return answer(reply, failure);
  });
  app.setNotFoundHandler(answerNoRoute);
}

const pathOf = ({ url }: FastifyRequest): string => url.split("?", 1)[0] ?? "";

function noRoute(request: FastifyRequest, path: string, allowed: readonly string[]): HttpFailure {
  const shown = path.slice(0, 200);
  if (allowed.length === 0) {
    const message = `there is nothing at ${shown}; /docs lists all paths`;
    return { error: new AppError("not_found", message), status: 404 };
  }
  const message = `${shown} does not support ${request.method}, only ${allowed.join(", ")}`;
  return { error: new AppError("invalid_argument", message), status: 405 };
}

function answer(reply: FastifyReply, { error, status }: HttpFailure): FastifyReply {
  outcomes.set(reply.raw, error.code);
  if (status === 429 || status === 503) reply.header("retry-after", RETRY_AFTER_SECONDS);
  return reply.code(status).type("application/json; charset=utf-8").send(toHttpError(error));
}

/** Errors before there is a route: an invalid URL. */
export function answerBadUrl(error: FastifyError, _: FastifyRequest, reply: FastifyReply): void {
  const status = error.statusCode ?? 400;
  const refusal = new AppError("invalid_argument", error.message, { cause: error });
  void answer(reply, { error: refusal, status });
}
