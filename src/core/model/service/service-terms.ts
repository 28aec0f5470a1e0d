import { invalid, unprocessable } from "../../../lib/errors.ts";
import type { Rule } from "../../../lib/rules/rules.ts";
import { limits } from "../../../limits.ts";
import { oneOf } from "../one-of.ts";
import { whole } from "../job/whole.ts";

/* A service is a job whose tasks have no natural end: a policy restarts them, which uses no retries: docs/design/services.md. */

export const RESTARTS = ["always", "on-failure", "never"] as const;

/** The ends after which a task is restarted: all, those without success, none. */
export type Restart = (typeof RESTARTS)[number];

/** The service terms of a job, complete. */
export interface ServiceTerms {
  readonly restart: Restart;
  /** Before the first restart, doubling up to `backoffMaxMs`. */
  readonly backoffMs: number;
  readonly backoffMaxMs: number;
  /** An attempt that ran this long ran well: the backoff starts at `backoffMs` again. */
  readonly resetAfterMs: number;
}

export interface ServiceTermsInput {
  readonly restart?: string | undefined;
  readonly backoffMs?: number | undefined;
  readonly backoffMaxMs?: number | undefined;
  readonly resetAfterMs?: number | undefined;
}

const duration = { minimum: 0, maximum: limits.durationMsMax };

export const SERVICE_TERMS_RULES = {
  restart: { enum: RESTARTS },
  backoffMs: duration,
  backoffMaxMs: duration,
  resetAfterMs: duration,
} as const satisfies Readonly<Record<string, Rule>>;

/** The defaults. */
export const DEFAULT_SERVICE: ServiceTerms = Object.freeze({
  restart: "always",
  backoffMs: limits.restartBackoffMsDefault,
  backoffMaxMs: limits.restartBackoffMsMax,
  resetAfterMs: limits.restartResetAfterMs,
});

export function toServiceTerms(input: ServiceTermsInput | undefined): ServiceTerms | undefined {
  if (input === undefined) return undefined;
  const { backoffMaxMs } = input;
  const first = amount(input, "backoffMs");
  const most = backoffMaxMs ?? Math.max(first, DEFAULT_SERVICE.backoffMaxMs);
  whole(most, "service.backoffMaxMs", duration);
  if (most < first) {
    throw unprocessable("service.backoffMaxMs", `is less than backoffMs, which is ${first}`);
  }
  const restart = oneOf(input.restart ?? DEFAULT_SERVICE.restart, "service.restart", RESTARTS);
  const resetAfterMs = amount(input, "resetAfterMs");
  return { restart, backoffMs: first, backoffMaxMs: most, resetAfterMs };
}

const amount = (input: ServiceTermsInput, name: "backoffMs" | "resetAfterMs"): number =>
  whole(input[name] ?? DEFAULT_SERVICE[name], `service.${name}`, duration);

/** Fields of a spec that a service cannot have, and why. */
export const NOT_OF_SERVICES = {
  array:
    "a job with service has one task; for several instances: busbar services apply NAME --replicas N",
  energy: "a service does not end, so its energy cannot be measured",
  jobspec: "a whole jobspec ends by itself: write a command or a script",
  retries: "a service restarts without a limit; service.restart says when",
  queueDeadlineMs: "it would also end the restarts",
} as const;

/** Throws if the spec has a field that a service cannot have. */
export function checkService(
  input: Readonly<{ [Name in keyof typeof NOT_OF_SERVICES]?: unknown }>,
): void {
  for (const [field, why] of Object.entries(NOT_OF_SERVICES)) {
    if (input[field as keyof typeof NOT_OF_SERVICES] !== undefined) throw invalid(field, why);
  }
}

/** The backoff before the restart after so many ends in a row. */
export const restartBackoffMs = ({ backoffMs, backoffMaxMs }: ServiceTerms, inRow: number) =>
  Math.min(backoffMaxMs, backoffMs * 2 ** Math.min(Math.max(inRow - 1, 0), 40));
