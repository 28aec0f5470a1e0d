import { limits } from "../../../limits.ts";
import type { RunRequest } from "../../../ports/executor.ts";
import { needsKey } from "../../runs/needs-key.ts";
import { runKey } from "../../runs/run-key.ts";
import type { SentRun } from "./commands.ts";

/** Runs that one command there runs one after the other. */
export interface Chain {
  readonly number: number;
  /** The common properties of its runs. */
  readonly kind: string;
  /** The key of the run that it was sent for. */
  readonly firstKey: string | undefined;
  /** In order, without those that have ended, or will not begin in this chain. */
  members: readonly SentRun[];
  /** The command has ended. */
  isAnswered: boolean;
  /** Set once it is being shut: no more of its runs begin. */
  shutting: Promise<void> | undefined;
}

/** Runs with the same text may be in one chain: equal needs, and equal terms for the whole chain. */
export const chainKindOf = (request: RunRequest): string => {
  const { needs, timeLimitMs, killGraceMs, outputLimitBytes } = request;
  return `${needsKey(needs)} ${timeLimitMs} ${killGraceMs} ${outputLimitBytes}`;
};

interface HeldRun {
  readonly request: RunRequest;
  readonly kind: string;
}

/**
 * Runs that the agent holds ahead, and the chains in which some of them were sent. A held run in a chain may have begun without a report
 * yet.
 */
export class RunChains {
  /** In the order of arrival. */
  readonly #held = new Map<string, HeldRun>();
  /** Of runs that have not ended. */
  readonly #byKey = new Map<string, Chain>();
  #count = 0;

  hold(request: RunRequest): void {
    const key = runKey(request.id);
    if (!this.#held.has(key)) this.#held.set(key, { request, kind: chainKindOf(request) });
  }

  isHeld(key: string): boolean {
    return this.#held.has(key);
  }

  /** The run has begun, or never will. */
  unhold(key: string): void {
    this.#held.delete(key);
  }

  of(key: string): Chain | undefined {
    return this.#byKey.get(key);
  }

  /** The run as it was sent, if it is in a chain. */
  sent(key: string): SentRun | undefined {
    return this.#byKey.get(key)?.members.find((member) => member.key === key);
  }

  /** The first held run that is in no chain. */
  firstOf(kind: string): RunRequest | undefined {
    for (const request of this.#idle(kind)) return request;
    return undefined;
  }

  /** The runs to send behind a run: a fair share of all, as other chains of the kind will end too. */
  behind(kind: string): readonly RunRequest[] {
    const idle = [...this.#idle(kind)];
    if (idle.length === 0) return idle;
    const underWay = new Set<Chain>();
    for (const chain of this.#byKey.values()) {
      if (chain.kind === kind && !chain.isAnswered) underWay.add(chain);
    }
    const share = Math.ceil(idle.length / (underWay.size + 1));
    return idle.slice(0, Math.min(limits.remoteChainRunsMax - 1, share));
  }

  *#idle(kind: string): Generator<RunRequest> {
    for (const [key, held] of this.#held) {
      if (held.kind === kind && !this.#byKey.has(key)) yield held.request;
    }
  }

  add(kind: string, members: readonly SentRun[]): Chain {
    this.#count += 1;
    const chain: Chain = {
      number: this.#count,
      kind,
      firstKey: members[0]?.key,
      members,
      isAnswered: false,
      shutting: undefined,
    };
    for (const { key } of members) this.#byKey.set(key, chain);
    return chain;
  }

  /** Those that follow the run in its chain. */
  after(key: string): readonly SentRun[] {
    const members = this.#byKey.get(key)?.members ?? [];
    return members.slice(members.findIndex((member) => member.key === key) + 1);
  }

  /** The run has ended, or does not begin in this chain. */
  takeOut(chain: Chain, key: string): void {
    chain.members = chain.members.filter((member) => member.key !== key);
    if (this.#byKey.get(key) === chain) this.#byKey.delete(key);
  }

  /** The state of all its runs is known. */
  remove(chain: Chain): void {
    for (const { key } of chain.members) this.takeOut(chain, key);
  }
}
