import { limits } from "../../../limits.ts";

const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

/** Parses the header grpc-timeout; undefined: it is invalid. */
export function parseTimeoutMs(timeout: string): number | undefined {
  const [, amount, unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(timeout) ?? [];
  return amount === undefined
    ? undefined
    : Math.min(Number(amount) * (UNIT_MS[unit] ?? 0), limits.timerMsMax);
}
