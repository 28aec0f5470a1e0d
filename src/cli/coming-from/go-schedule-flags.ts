import type { Command } from "commander";
import { isLoopback, parseAddress } from "../../lib/address.ts";
import { invalid } from "../../lib/errors.ts";
import { formatDuration } from "../../lib/units.ts";
import { limits } from "../../limits.ts";
import type { GoScheduleFlags } from "../context.ts";
import { address, duration } from "../flags.ts";
import { addTlsFlags, checkAlone, tlsOf } from "../service/tls-flags.ts";

/** The flags as written. */
export interface GoScheduleCommandOptions {
  /** true: the flag without an address. */
  readonly goSchedule?: string | true;
  readonly goScheduleCert?: string;
  readonly goScheduleKey?: string;
  readonly goScheduleCa?: string;
  readonly goScheduleInsecure?: true;
  readonly goSchedulePing?: number;
  readonly goScheduleSilence?: number;
  readonly goScheduleTimeLimit?: number;
}

const FLAG = "--go-schedule";
/** The port that go-schedule's workers connect to in its examples. */
const ADDRESS_DEFAULT = "127.0.0.1:1234";

export function addGoScheduleFlags(command: Command): void {
  const time = (name: string, text: string): Command =>
    command.option(`${FLAG}-${name} <duration>`, text, positive(`${FLAG}-${name}`));
  command.option(
    `${FLAG} [address]`,
    `serve go-schedule's workers and schedctl here (default: ${ADDRESS_DEFAULT})`,
    address(FLAG),
  );
  addTlsFlags(command, FLAG, {
    cert: "serve them with TLS too: certificate",
    key: "and its key",
    ca: "and accept only clients with a certificate of this authority",
  });
  command.option(
    `${FLAG}-insecure`,
    "allow every client that can reach the port to run any command on the workers",
  );
  time("ping", `ping workers this often (default: ${formatDuration(limits.goSchedulePingMs)})`);
  time(
    "silence",
    `disconnect workers that do not answer for this long (default: ${formatDuration(limits.goScheduleSilenceMs)})`,
  );
  time("time-limit", "stop schedctl's tasks after this (default: never)");
}

const positive =
  (flag: string) =>
  (text: string): number => {
    const ms = duration(flag)(text);
    if (ms >= limits.goSchedulePingMsMin) return ms;
    const least = formatDuration(limits.goSchedulePingMsMin);
    throw invalid(flag, `"${text}" is too short; it must be ${least} or more`);
  };

/** The meaning of the flags together, and all others. Throws when they contradict each other. */
export function takeGoSchedule<Flags extends GoScheduleCommandOptions>(flags: Flags) {
  const {
    goSchedule,
    goScheduleCert,
    goScheduleKey,
    goScheduleCa,
    goScheduleInsecure,
    goSchedulePing,
    goScheduleSilence,
    goScheduleTimeLimit,
    ...others
  } = flags;
  const more = {
    goScheduleCert,
    goScheduleKey,
    goScheduleCa,
    goScheduleInsecure,
    goSchedulePing,
    goScheduleSilence,
    goScheduleTimeLimit,
  };
  if (goSchedule === undefined) checkAlone(FLAG, more);
  const at = goSchedule === true ? ADDRESS_DEFAULT : goSchedule;
  return { goSchedule: at === undefined ? undefined : goScheduleOf(at, more), others };
}

type More = {
  readonly [Name in Exclude<keyof GoScheduleCommandOptions, "goSchedule">]:
    | GoScheduleCommandOptions[Name]
    | undefined;
};

function goScheduleOf(at: string, more: More): GoScheduleFlags {
  const { goScheduleCert: cert, goScheduleKey: key, goScheduleCa: ca } = more;
  const tls = tlsOf(FLAG, { cert, key, ca });
  const isInsecure = more.goScheduleInsecure === true;
  const allowsPlaintext = isInsecure || isLoopback(parseAddress(at, FLAG).host);
  if (tls?.ca === undefined && !allowsPlaintext) {
    throw invalid(
      FLAG,
      `at ${at} other machines could run commands on every worker: give ${FLAG}-cert, ${FLAG}-key and ` +
        `${FLAG}-ca to require client certificates, or allow it with ${FLAG}-insecure`,
    );
  }
  return {
    address: at,
    allowsPlaintext,
    isInsecure,
    ...(tls === undefined ? {} : { tls }),
    ...timesOf(more),
  };
}

function timesOf({ goSchedulePing, goScheduleSilence, goScheduleTimeLimit }: More) {
  const pingMs = goSchedulePing ?? limits.goSchedulePingMs;
  const silenceMs = goScheduleSilence ?? limits.goScheduleSilenceMs;
  if (silenceMs <= pingMs) {
    const [silence, ping] = [formatDuration(silenceMs), formatDuration(pingMs)];
    throw invalid(
      `${FLAG}-silence`,
      `${silence} is too short for workers that are pinged every ${ping}: see ${FLAG}-ping`,
    );
  }
  const limit = goScheduleTimeLimit === undefined ? {} : { timeLimitMs: goScheduleTimeLimit };
  return { pingMs, silenceMs, ...limit };
}
