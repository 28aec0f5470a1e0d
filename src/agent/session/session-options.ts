import type { Clock } from "../../ports/clock.ts";
import type { Executor } from "../../ports/executor.ts";
import type { Logger } from "../../ports/logger.ts";
import type { AgentFacts } from "../agent-facts.ts";
import type { HeldSpecs } from "./held-specs.ts";
import type { KnownRuns } from "./known-runs.ts";
import type { ConnectLink } from "../link/link.ts";
import type { ServerTime } from "./server-time.ts";

/** Whether the agent can start processes. */
export interface SessionHealth {
  readonly sickness: string | undefined;
}

export type SessionEnd =
  | { readonly kind: "lost"; readonly reason: string; readonly wasWelcomed: boolean }
  | { readonly kind: "refused"; readonly reason: string }; // another connection will not help

export interface SessionOptions {
  readonly facts: AgentFacts;
  readonly connect: ConnectLink;
  readonly executor: Executor;
  readonly runs: KnownRuns;
  readonly health: SessionHealth;
  /** The estimate of the server's time, from earlier sessions too. */
  readonly serverTime: ServerTime;
  readonly heldSpecs: HeldSpecs;
  readonly clock: Clock;
  readonly logger: Logger;
  onEnd(end: SessionEnd): void;
}
