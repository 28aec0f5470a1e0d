import type { Command } from "commander";
import { linkTimesProblem } from "../../core/model/node/heartbeat.ts";
import { invalid } from "../../lib/errors.ts";
import { formatDuration } from "../../lib/units.ts";
import { limits } from "../../limits.ts";
import type { LinkTimeFlags } from "../context.ts";
import { duration } from "../flags.ts";

/** Times by which the two ends of an agent's link detect a lost peer, as written. */
export interface LinkOptions {
  readonly heartbeat?: number;
  readonly silence?: number;
}

export function addLinkFlags(command: Command, whose: string): void {
  command
    .option(
      "--heartbeat <duration>",
      `send a heartbeat after this long without a message${whose}`,
      duration("--heartbeat"),
    )
    .option(
      "--silence <duration>",
      "close a link after this long without a byte (default: two heartbeats and 10s)",
      duration("--silence"),
    );
}

export function addKeepaliveFlag(command: Command): void {
  const most = formatDuration(limits.grpcKeepaliveIntervalMs);
  command.option(
    "--keepalive <duration>",
    `ping connections after this long without a byte (default: ${most})`,
    keepalive,
  );
}

function keepalive(text: string): number {
  const ms = duration("--keepalive")(text);
  if (ms >= limits.keepaliveMsMin) return ms;
  const least = formatDuration(limits.keepaliveMsMin);
  throw invalid("--keepalive", `"${text}" is too short; at least ${least}`);
}

/**
 * The given times, if they are consistent; `lostAfterMs` is when a silent node is lost, if it must be compared with these flags. undefined:
 * none were given.
 */
export function toLinkTimes(
  { heartbeat, silence }: LinkOptions,
  lostAfterMs?: number,
): LinkTimeFlags | undefined {
  if (heartbeat === undefined && silence === undefined) return undefined;
  const times = {
    ...(heartbeat === undefined ? {} : { heartbeatMs: heartbeat }),
    ...(silence === undefined ? {} : { silenceMs: silence }),
  };
  const problem = linkTimesProblem(times, lostAfterMs);
  if (problem === undefined) return times;
  throw invalid(silence === undefined ? "--heartbeat" : "--silence", problem);
}
