import { status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { AppError, type ErrorCode, invalid } from "../../lib/errors.ts";
import { toGrpcStatus, toHttpError, toHttpStatus } from "./status.ts";

const codes: Readonly<Record<ErrorCode, [status, number]>> = {
  invalid_argument: [status.INVALID_ARGUMENT, 400],
  not_found: [status.NOT_FOUND, 404],
  already_exists: [status.ALREADY_EXISTS, 409],
  permission_denied: [status.PERMISSION_DENIED, 403],
  conflict: [status.FAILED_PRECONDITION, 409],
  unschedulable: [status.FAILED_PRECONDITION, 422],
  compacted: [status.OUT_OF_RANGE, 410],
  exhausted: [status.RESOURCE_EXHAUSTED, 429],
  unavailable: [status.UNAVAILABLE, 503],
  internal: [status.INTERNAL, 500],
};

for (const [code, [grpc, http]] of Object.entries(codes) as [ErrorCode, [status, number]][]) {
  test(`${code} is ${status[grpc]} and ${http}`, () => {
    const answer = toGrpcStatus(new AppError(code, "what happened"));
    expect(answer.code).toBe(grpc);
    expect(answer.details).toBe("what happened");
    expect(answer.metadata["busbar-code"]).toBe(code);
    expect(toHttpStatus(code)).toBe(http);
  });
}

test("the field at fault goes along on both wires", () => {
  const error = invalid("jobs[3].priority", "must be less");
  expect(toGrpcStatus(error).metadata["busbar-field"]).toBe("jobs[3].priority");
  expect(toHttpError(error)).toEqual({
    error: {
      code: "invalid_argument",
      message: "jobs[3].priority: must be less",
      field: "jobs[3].priority",
    },
  });
});

test("what is not an AppError is an internal error of which nothing leaks", () => {
  const error = new Error("password in /etc/shadow");
  expect(toGrpcStatus(error)).toMatchObject({ code: status.INTERNAL, details: "internal error" });
  const wrapped = new AppError("unavailable", "open store", { cause: error });
  expect(JSON.stringify(toHttpError(wrapped))).not.toMatch(/shadow|stack/);
  expect(toGrpcStatus(wrapped).details).toBe("open store");
});

test("messages are bounded and never end in half a character", () => {
  const { details } = toGrpcStatus(new AppError("internal", `${"x".repeat(999)}😀😀`));
  expect(details.length).toBeLessThan(1_010);
  expect(() => encodeURI(details)).not.toThrow();
});

test("a field that is no header is still told as far as possible", () => {
  const { metadata } = toGrpcStatus(invalid("labels.zürich\n", "no"));
  expect(metadata["busbar-field"]).toBe("labels.z?rich?");
});
