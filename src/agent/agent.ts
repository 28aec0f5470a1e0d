import { AppError } from "../lib/errors.ts";
import { limits } from "../limits.ts";
import type { Clock } from "../ports/clock.ts";
import type { Executor } from "../ports/executor.ts";
import type { Logger } from "../ports/logger.ts";
import type { Random } from "../ports/random.ts";
import { Health } from "./health.ts";
import { HeldSpecs } from "./session/held-specs.ts";
import { KnownRuns } from "./session/known-runs.ts";
import type { ConnectLink } from "./link/link.ts";
import type { AgentFacts } from "./agent-facts.ts";
import type { SessionEnd } from "./session/session-options.ts";
import { ServerTime } from "./session/server-time.ts";
import { ServerSession } from "./session/session.ts";

export interface AgentOptions extends AgentFacts {
  readonly executor: Executor;
  readonly connect: ConnectLink;
  /** How many addresses `connect` tries in turn; a whole round of failures counts as one. Absent: 1. */
  readonly addressTotal?: () => number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface Agent {
  /**
   * Keeps a session with the server until `signal` fires, through any number of lost links; runs
   * continue meanwhile. Throws `permission_denied` when the server refuses this agent for good.
   * The caller closes the executor.
   */
  run(signal: AbortSignal): Promise<void>;
  /** The facts of the machine changed: sends them to the server, now or in the next session. */
  factsChanged(): void;
  /** The node's power for shares changed. */
  powerChanged(): void;
  /** The capacity that the agent would accept changed; only for agents of clusters. */
  roomChanged(): void;
}

export function createAgent(options: AgentOptions): Agent {
  const { clock, random, logger, executor, connect, addressTotal = () => 1, ...facts } = options;
  let session: ServerSession | undefined;
  const health = new Health({
    clock,
    logger,
    probe: executor.probe && (async () => executor.probe?.()),
    onChange: () => session?.tellHealth(),
  });
  const runs = new KnownRuns(
    executor,
    clock,
    (key, reported) => {
      health.heard(reported.report); // first: the server must not place the run here again
      session?.report(key, reported);
    },
    (key, run) => session?.progressed(key, run),
  );

  const serverTime = new ServerTime(clock);
  const known = { facts, runs, health, serverTime, heldSpecs: new HeldSpecs() };

  async function runSession(signal: AbortSignal): Promise<SessionEnd | "aborted"> {
    return await new Promise((resolve) => {
      const onAbort = (): void => {
        session?.close();
        resolve("aborted");
      };
      const onEnd = (end: SessionEnd): void => {
        signal.removeEventListener("abort", onAbort);
        resolve(end);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      session = new ServerSession({ ...known, connect, executor, clock, logger, onEnd });
    });
  }

  return {
    factsChanged: () => session?.tellFacts(),
    powerChanged: () => session?.tellPower(),
    roomChanged: () => session?.tellRoom(),

    async run(signal) {
      try {
        for (let failures = 0; !signal.aborted; failures += 1) {
          const end = await runSession(signal);
          session = undefined;
          if (end === "aborted") return;
          if (end.kind === "refused") {
            throw new AppError("permission_denied", `the server refused this agent: ${end.reason}`);
          }
          if (end.wasWelcomed) failures = 0;
          const rounds = Math.floor(failures / Math.max(1, addressTotal()));
          const delayMs = reconnectDelayMs(rounds, random);
          logger.warn(
            { reason: end.reason, retryInMs: delayMs },
            "lost the connection to the server",
          );
          await sleep(clock, delayMs, signal);
        }
      } finally {
        health.close();
      }
    },
  };
}

/** Doubles up to the maximum, and spreads agents that lost the same server over the second half. */
export function reconnectDelayMs(failures: number, random: Random): number {
  const { reconnectDelayMsMin, reconnectDelayMsMax } = limits;
  const fullMs = Math.min(
    reconnectDelayMsMax,
    reconnectDelayMsMin * 2 ** Math.min(failures + 1, 20),
  );
  return Math.round(fullMs / 2 + (fullMs / 2) * random.fraction());
}

/** Returns early when `signal` fires. */
function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      cancel();
      signal.removeEventListener("abort", wake);
      resolve();
    };
    const cancel = clock.after(delayMs, wake);
    signal.addEventListener("abort", wake, { once: true });
  });
}
