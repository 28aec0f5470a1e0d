import { GraphQLError, type GraphQLFormattedError } from "graphql";
import { AppError, describeChain } from "../../../lib/errors.ts";
import type { Logger } from "../../../ports/logger.ts";
import { toHttpError } from "../status.ts";
import { InvalidDocument } from "./documents/read-document.ts";

/** Any error in the form of GraphQL: Busbar's codes, fields and revisions are in `extensions`. */
export function toGraphqlErrors(thrown: unknown, logger: Logger): readonly GraphQLFormattedError[] {
  if (thrown instanceof InvalidDocument) return thrown.errors.map((error) => shown(error, logger));
  return [shown(thrown, logger)];
}

function shown(thrown: unknown, logger: Logger): GraphQLFormattedError {
  if (!(thrown instanceof GraphQLError)) return plain(appErrorOf(thrown, logger));
  const { locations, path } = thrown.toJSON();
  // Only errors during execution have a path; earlier ones concern the document or its variables.
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
