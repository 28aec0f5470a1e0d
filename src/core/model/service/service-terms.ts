import { invalid, unprocessable } from "../../../lib/errors.ts";
import type { Rule } from "../../../lib/rules/rules.ts";
import { limits } from "../../../limits.ts";
import { oneOf } from "../one-of.ts";
import { whole } from "../job/whole.ts";

/*
 * A service is a job whose tasks have no natural end: they are started again by policy, which uses no retries:
 * docs/design/services.md.
 */

export const RESTARTS = ["always", "on-failure", "never"] as const;

/** After which ends a task starts again: any, those that did not succeed, none. */
export type Restart = (typeof RESTARTS)[number];

/** What a job that is a service says of it, complete. */
export interface ServiceTerms {
  readonly restart: Restart;
  /** Before the first restart, doubling up to `backoffMaxMs`. */
  readonly backoffMs: number;
  readonly backoffMaxMs: number;
  /** An attempt that ran this long ran well: the wait begins with `backoffMs` again. */
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

/** Of a service that says nothing else. */
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

/** What fields of a spec do not go together with a service, and why. */
export const NOT_OF_SERVICES = {
  array: "a service is one task: apply a service with replicas for more of them",
  energy: "a service has no end that energy could be measured to",
  jobspec: "a whole jobspec has an end: give a command or a script",
  retries: "restarts have no limit: service.restart says when there is one",
  queueDeadlineMs: "it would end the restarts, too",
} as const;

/** Throws if something is said that a service cannot have. */
export function checkService(
  input: Readonly<{ [Name in keyof typeof NOT_OF_SERVICES]?: unknown }>,
): void {
  for (const [field, why] of Object.entries(NOT_OF_SERVICES)) {
    if (input[field as keyof typeof NOT_OF_SERVICES] !== undefined) throw invalid(field, why);
  }
}

/** How long to wait before the restart after so many ends in a row. */
export const restartBackoffMs = ({ backoffMs, backoffMaxMs }: ServiceTerms, inRow: number) =>
  Math.min(backoffMaxMs, backoffMs * 2 ** Math.min(Math.max(inRow - 1, 0), 40));
