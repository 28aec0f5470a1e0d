import { describeChain } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { RunId, RunRequest } from "../../../ports/executor.ts";
import { programOf } from "../../runs/command-outcome.ts";
import { runKey } from "../../runs/run-key.ts";
import type { SentRun } from "./commands.ts";
import { bytesOf, startCommand, wordsOf } from "./commands.ts";
import type { RemoteExecutorOptions } from "./remote-executor.ts";
import type { RemoteMachine } from "./remote-machine.ts";
import type { RemoteRun, StartCommand } from "./run.ts";
import { type Chain, chainKindOf, RunChains } from "./run-chains.ts";
import type { ChainReply, RemoteRunTerms } from "./run-file.ts";
import { parseReply } from "./run-file.ts";
import type { WorkDirectories } from "./work-directories.ts";

/** Receives the changes of runs that follow from the reports of their chains. */
export interface ChainListener {
  /** Runs that the server has started, or that have begun. */
  readonly runs: ReadonlyMap<string, RemoteRun>;
  readonly isOver: boolean;
  /** A run that was sent ahead has begun: it is one of `runs` from now on. */
  begun(sent: SentRun): RemoteRun;
  accepted(run: RemoteRun): void;
  /** The command that ran it has ended, and reported this about it; with the beginnings of outputs, if the report is whole. */
  answered(run: RemoteRun, lines: readonly string[], isWhole: boolean): void;
  /** Its machine has this record of it. */
  looked(run: RemoteRun, lines: readonly string[] | undefined): void;
  notSent(run: RemoteRun, error: unknown): void;
}

type Survey = ReadonlyMap<string, readonly string[]>;

/**
 * Sends runs: one, and behind it held ones that may follow it, in one command. So the worker starts one program and answers once for many
 * short runs.
 */
export class SentChains {
  readonly #options: RemoteExecutorOptions;
  readonly #machine: RemoteMachine;
  readonly #directories: WorkDirectories;
  readonly #listener: ChainListener;
  readonly #chains = new RunChains();

  constructor(
    options: RemoteExecutorOptions,
    parts: { readonly machine: RemoteMachine; readonly directories: WorkDirectories },
    listener: ChainListener,
  ) {
    this.#options = options;
    this.#machine = parts.machine;
    this.#directories = parts.directories;
    this.#listener = listener;
  }

  hold(request: RunRequest): void {
    this.#chains.hold(request);
  }

  /** The server starts the run; it is as it was sent, if it is in a chain. */
  begin(key: string): SentRun | undefined {
    this.#chains.unhold(key);
    return this.#chains.sent(key);
  }

  /** Runs that begin when this one has ended, without a report yet. */
  followersOf(key: string): readonly SentRun[] {
    return this.#chains.after(key).filter((member) => !this.#listener.runs.has(member.key));
  }

  /** The run that followed it in its chain, or else one that was not sent yet. */
  next(ended: RunId): RunId | undefined {
    const place = this.#listener.runs.get(runKey(ended))?.freed;
    if (place === undefined) return undefined;
    return place.follower ?? this.#chains.firstOf(place.kind)?.id;
  }

  /** Listeners are notified later, and then ask what follows. */
  ended(run: RemoteRun): void {
    const chain = this.#chains.of(run.key);
    if (chain === undefined) return;
    run.freed = { kind: chain.kind, follower: this.#chains.after(run.key)[0]?.request.id };
    this.#chains.takeOut(chain, run.key);
  }

  /** See AheadRuns. */
  async release(id: RunId): Promise<boolean> {
    const key = runKey(id);
    const chain = this.#chains.isHeld(key) ? this.#chains.of(key) : undefined;
    if (chain !== undefined) await this.#shutOnce(chain);
    this.#chains.unhold(key);
    return !this.#listener.runs.has(key);
  }

  termsFor(request: RunRequest): RemoteRunTerms {
    return {
      sentAtMs: this.#options.clock.nowMs(),
      outputLimitBytes: request.outputLimitBytes,
      work: request.cwd === undefined ? this.#directories.take() : undefined,
      program: programOf(request),
    };
  }

  /** The first attempt: held runs may follow it. */
  send(run: RemoteRun, { request }: StartCommand): void {
    this.#send(run, request, this.#chains.behind(chainKindOf(request)));
  }

  /** The machine has no files of it. Held runs that were to follow it are held again. */
  sendAgain(run: RemoteRun, { request }: StartCommand): void {
    const chain = this.#chains.of(run.key);
    if (chain === undefined || chain.members.length === 1) this.#send(run, request, []);
    else this.#shutOnce(chain).catch(() => undefined); // the link is over
  }

  #send(run: RemoteRun, request: RunRequest, behind: readonly RunRequest[]): void {
    const { place, link, shell, clock } = this.#options;
    run.sent(clock.nowMs());
    const { key, terms } = run;
    const runs = [wordedOf({ key, terms, request }, place)];
    for (const each of this.#fitting(runs[0]?.words ?? [], behind)) runs.push(each);
    const members = runs.map(({ sent }) => sent);
    const chain = this.#chains.add(chainKindOf(request), members);
    const argv = startCommand(place, { link, number: chain.number }, runs);
    shell.exec(argv, { onAccepted: () => this.#listener.accepted(run) }).then(
      ({ stdout }) => this.#answered(chain, parseReply(stdout)),
      (error: unknown) => {
        this.#chains.remove(chain);
        this.#listener.notSent(run, error);
      },
    );
  }

  /** Those that are short enough for one command. */
  *#fitting(first: readonly string[], behind: readonly RunRequest[]): Generator<WordedRun> {
    let bytes = 0;
    const fits = (words: readonly string[]): boolean => {
      bytes += bytesOf(words);
      return bytes <= limits.remoteChainBytesMax && words.length <= limits.remoteChainWordsMax;
    };
    if (!fits(first)) return;
    for (const request of behind) {
      const sent = { key: runKey(request.id), terms: this.termsFor(request), request };
      try {
        const worded = wordedOf(sent, this.#options.place);
        if (fits(worded.words)) {
          yield worded;
          continue;
        }
      } catch {
        // It cannot be sent alone either, and the error of that says why.
      }
      this.#giveBackDirectory(sent);
      return;
    }
  }

  /** A run that is not in the answer has not begun, unless the answer is cut short. */
  #answered(chain: Chain, { runs, isWhole }: ChainReply): void {
    chain.isAnswered = true;
    // If no run at all has begun, there may be a reason.
    const unbegun = isWhole ? this.#takeOutUnbegun(chain, runs, chain.firstKey) : [];
    for (const member of chain.members) {
      const lines = runs.get(member.key);
      const run = this.#listener.runs.get(member.key);
      if (run !== undefined) this.#listener.answered(run, lines ?? [], isWhole);
      else if (lines !== undefined) this.#listener.answered(this.#begun(member), lines, isWhole);
    }
    this.#sendUnbegun(unbegun);
    if (isWhole) return this.#chains.remove(chain);
    const known = (): void => this.#chains.remove(chain);
    this.#shutOnce(chain).then(known, () => undefined); // the link is over
  }

  /** Resolves when it is known which of its runs have begun; no others will. */
  #shutOnce(chain: Chain): Promise<void> {
    chain.shutting ??= this.#shut(chain);
    return chain.shutting;
  }

  async #shut(chain: Chain): Promise<void> {
    const { clock, logger } = this.#options;
    const keys = chain.members.map(({ key }) => key);
    for (;;) {
      try {
        return this.#wasShut(chain, await this.#machine.shut(chain.number, keys));
      } catch (error) {
        if (this.#listener.isOver) throw error;
        logger.warn({ error: describeChain(error) }, "could not withdraw runs; trying again");
        await new Promise<void>((resolve) => clock.after(limits.remoteRetryMs, resolve));
      }
    }
  }

  #wasShut(chain: Chain, begun: Survey): void {
    const unbegun = this.#takeOutUnbegun(chain, begun);
    for (const member of chain.members) {
      const run = this.#listener.runs.get(member.key) ?? this.#begun(member);
      this.#listener.looked(run, begun.get(member.key));
    }
    this.#sendUnbegun(unbegun);
  }

  #begun(member: SentRun): RemoteRun {
    this.#chains.unhold(member.key);
    return this.#listener.begun(member);
  }

  /** None of them begins in this chain. Returns those that the server has started. */
  #takeOutUnbegun(chain: Chain, begun: Survey, exceptKey?: string): readonly RemoteRun[] {
    const wanted: RemoteRun[] = [];
    for (const member of chain.members) {
      if (begun.has(member.key) || member.key === exceptKey) continue;
      this.#chains.takeOut(chain, member.key);
      const run = this.#listener.runs.get(member.key);
      if (run === undefined) this.#giveBackDirectory(member);
      else wanted.push(run);
    }
    return wanted;
  }

  #sendUnbegun(runs: readonly RemoteRun[]): void {
    for (const run of runs) {
      if (run.state.kind === "sent") this.#send(run, run.state.start.request, []);
      else this.#listener.answered(run, [], false);
    }
  }

  #giveBackDirectory({ terms }: SentRun): void {
    if (terms.work !== undefined) this.#directories.giveBack(terms.work);
  }
}

interface WordedRun {
  readonly sent: SentRun;
  readonly words: readonly string[];
}

const wordedOf = (sent: SentRun, place: RemoteExecutorOptions["place"]): WordedRun => ({
  sent,
  words: wordsOf(place, sent),
});
