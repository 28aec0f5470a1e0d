import { GraphQLError, type GraphQLFormattedError } from "graphql";
import { AppError, describeChain } from "../../../lib/errors.ts";
import type { Logger } from "../../../ports/logger.ts";
import { toHttpError } from "../status.ts";
import { InvalidDocument } from "./documents/read-document.ts";

/** Whatever went wrong, as GraphQL tells it: codes, fields and revisions of ours are in `extensions`. */
export function toGraphqlErrors(thrown: unknown, logger: Logger): readonly GraphQLFormattedError[] {
  if (thrown instanceof InvalidDocument) return thrown.errors.map((error) => shown(error, logger));
  return [shown(thrown, logger)];
}

function shown(thrown: unknown, logger: Logger): GraphQLFormattedError {
  if (!(thrown instanceof GraphQLError)) return plain(appErrorOf(thrown, logger));
  const { locations, path } = thrown.toJSON();
  // Only what goes wrong while a request runs has a path; before, it is the document or its variables.
  const error =
    path === undefined
      ? new AppError("invalid_argument", thrown.message)
      : appErrorOf(thrown.originalError, logger);
  return {
    ...plain(error),
    ...(locations === undefined ? {} : { locations }),
    ...(path === undefined ? {} : { path }),
  };
}

function appErrorOf(thrown: unknown, logger: Logger): AppError {
  const error = AppError.from(thrown, "internal error");
  if (error.code === "internal") {
    const stack = thrown instanceof Error ? thrown.stack : undefined;
    logger.error({ error: describeChain(thrown), stack }, "GraphQL request failed");
  }
  return error;
}

function plain(error: AppError): GraphQLFormattedError {
  const { message, ...extensions } = toHttpError(error).error;
  return { message, extensions };
}
