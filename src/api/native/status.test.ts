import { expect, test } from "vitest";
import { AppError, type ErrorCode, invalid } from "../../lib/errors.ts";
import { toHttpError, toHttpStatus } from "./status.ts";

const codes: Readonly<Record<ErrorCode, number>> = {
  invalid_argument: 400,
  unprocessable: 422,
  not_found: 404,
  already_exists: 409,
  unauthenticated: 401,
  permission_denied: 403,
  conflict: 409,
  unschedulable: 422,
  compacted: 410,
  exhausted: 429,
  unavailable: 503,
  internal: 500,
};

for (const [code, http] of Object.entries(codes) as [ErrorCode, number][]) {
  test(`${code} is ${http}`, () => {
    expect(toHttpStatus(code)).toBe(http);
  });
}

test("the error carries the wrong field", () => {
  expect(toHttpError(invalid("jobs[3].priority", "must be less"))).toEqual({
    error: {
      code: "invalid_argument",
      message: "jobs[3].priority: must be less",
      field: "jobs[3].priority",
    },
  });
});

test("causes and stacks are not sent", () => {
  const cause = new Error("password in /etc/shadow");
  const wrapped = new AppError("unavailable", "open store", { cause });
  expect(JSON.stringify(toHttpError(wrapped))).not.toMatch(/shadow|stack/);
});
