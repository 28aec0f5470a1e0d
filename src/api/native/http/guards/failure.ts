import type { FastifyError } from "fastify";
import { AppError } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import { toHttpStatus } from "../../status.ts";
import { toInvalid } from "./invalid-request.ts";

/** An error and its HTTP status, which is not always that of its code. */
export interface HttpFailure {
  readonly error: AppError;
  readonly status: number;
}

interface Checked {
  readonly body: unknown;
  readonly query: unknown;
  readonly params: unknown;
  /** The size limit of the body, by the route. */
  readonly routeOptions?: { readonly bodyLimit?: number | undefined };
}

/** Converts anything thrown while a request was served to an answer. */
export function toFailure(thrown: unknown, request: Checked): HttpFailure {
  if (thrown instanceof AppError) return { error: thrown, status: toHttpStatus(thrown.code) };
  const known = thrown as Partial<FastifyError>;
  if (known.validation !== undefined) {
    const checked = checkedPart(known.validationContext, request);
    return { error: toInvalid(known.validation, checked), status: 400 };
  }
  const status = known.statusCode ?? 500;
  if (status < 400 || status > 499) {
    return { error: AppError.from(thrown, "internal error"), status: 500 };
  }
  return { error: toRefusal(known, thrown, request), status };
}

function checkedPart(context: string | undefined, request: Checked): unknown {
  if (context === "querystring") return request.query;
  return context === "params" ? request.params : request.body;
}

/** Errors of the HTTP framework before we see the request. */
function toRefusal(
  { code, message = "" }: Partial<FastifyError>,
  cause: unknown,
  { routeOptions }: Checked,
): AppError {
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE") {
    const bytesMax = routeOptions?.bodyLimit ?? limits.messageBytesMax;
    const words = `the body has more than ${bytesMax} bytes; send less at once`;
    return new AppError("exhausted", words, { cause });
  }
  if (code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") {
    const words = "must be application/json";
    return new AppError("invalid_argument", words, { cause, field: "Content-Type" });
  }
  return new AppError("invalid_argument", message, { cause });
}
