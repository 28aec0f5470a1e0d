import { status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { AppError, type ErrorCode, invalid } from "../../lib/errors.ts";
import { toGrpcStatus } from "./status.ts";

const codes: Readonly<Record<ErrorCode, status>> = {
  invalid_argument: status.INVALID_ARGUMENT,
  unprocessable: status.INVALID_ARGUMENT,
  not_found: status.NOT_FOUND,
  already_exists: status.ALREADY_EXISTS,
  unauthenticated: status.UNAUTHENTICATED,
  permission_denied: status.PERMISSION_DENIED,
  conflict: status.FAILED_PRECONDITION,
  unschedulable: status.FAILED_PRECONDITION,
  compacted: status.OUT_OF_RANGE,
  exhausted: status.RESOURCE_EXHAUSTED,
  unavailable: status.UNAVAILABLE,
  internal: status.INTERNAL,
};

for (const [code, grpc] of Object.entries(codes) as [ErrorCode, status][]) {
  test(`${code} is ${status[grpc]}`, () => {
    const answer = toGrpcStatus(new AppError(code, "what happened"));
    expect(answer.code).toBe(grpc);
    expect(answer.details).toBe("what happened");
    expect(answer.metadata["busbar-code"]).toBe(code);
  });
}

test("the error carries the wrong field", () => {
  const error = invalid("jobs[3].priority", "must be less");
  expect(toGrpcStatus(error).metadata["busbar-field"]).toBe("jobs[3].priority");
});

test("any error other than an AppError is an internal error, and no detail of it leaks", () => {
  const error = new Error("password in /etc/shadow");
  expect(toGrpcStatus(error)).toMatchObject({ code: status.INTERNAL, details: "internal error" });
  const wrapped = new AppError("unavailable", "open store", { cause: error });
  expect(toGrpcStatus(wrapped).details).toBe("open store");
});

test("messages are bounded and never end in half a character", () => {
  const { details } = toGrpcStatus(new AppError("internal", `${"x".repeat(999)}😀😀`));
  expect(details.length).toBeLessThan(1_010);
  expect(() => encodeURI(details)).not.toThrow();
});

test("a field that is no valid header is still sent as far as possible", () => {
  const { metadata } = toGrpcStatus(invalid("labels.zürich\n", "no"));
  expect(metadata["busbar-field"]).toBe("labels.z?rich?");
});
