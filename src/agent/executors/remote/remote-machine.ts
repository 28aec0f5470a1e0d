import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { RemoteShell } from "../../../ports/remote-shell.ts";
import type { RemotePlace } from "./commands.ts";
import { installCommand, markOf, pathOf, script, shutCommand, stopCommand } from "./commands.ts";
import type { RunFile, RemoteRunTerms } from "./run-file.ts";
import { linesOf, parseRunFile, parseSurvey } from "./run-file.ts";
import { BURY, SURVEY } from "./scripts/run-scripts.ts";

/** The remote machine: runs on its disk, and the shell that reaches it. Calls may fail with `unavailable`. */
export class RemoteMachine {
  readonly #shell: RemoteShell;
  readonly #place: RemotePlace;

  readonly #link: string;

  constructor(parts: {
    readonly shell: RemoteShell;
    readonly place: RemotePlace;
    readonly link: string;
  }) {
    this.#shell = parts.shell;
    this.#place = parts.place;
    this.#link = parts.link;
  }

  /** Installs the start script; runs that earlier links sent no longer begin. Throws `conflict` when the machine cannot store it. */
  async install(): Promise<void> {
    if ((await this.#outputOf(installCommand(this.#place, this.#link))) === "all\n") return;
    const { directory } = this.#place;
    throw new AppError("conflict", `cannot write to ${directory} on its machine`);
  }

  /** The lines of each run there: of these runs, or of all whose ends are not recorded. */
  async survey(
    runs: readonly { readonly key: string; readonly terms: RemoteRunTerms }[],
    nowMs: number,
  ): Promise<ReadonlyMap<string, readonly string[]>> {
    const names = runs.map(({ key, terms }) => `${key} ${terms.outputLimitBytes}`);
    const { directory } = this.#place;
    const command = script(
      this.#place,
      SURVEY,
      directory,
      String(nowMs),
      markOf(this.#place),
      ...names,
    );
    return this.#surveyed(command);
  }

  async #surveyed(command: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const survey = parseSurvey(await this.#outputOf(command));
    if (survey !== undefined) return survey;
    throw new AppError("unavailable", "its machine could not list its runs");
  }

  /** The lines of each run of the chain that has begun; no other run of it will. */
  shut(number: number, keys: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    return this.#surveyed(shutCommand(this.#place, { link: this.#link, number }, keys));
  }

  /** Gives up a run that was claimed and has not begun. */
  async bury(key: string, nowMs: number): Promise<RunFile | undefined> {
    const command = script(this.#place, BURY, pathOf(this.#place, key), String(nowMs));
    return parseRunFile(linesOf(await this.#outputOf(command)), false);
  }

  /** Resolves when no process of it is left. */
  async stop(
    run: { readonly key: string; readonly terms: RemoteRunTerms; readonly graceMs: number },
    nowMs: number,
  ): Promise<RunFile | undefined> {
    const terms = { ...run.terms, sentAtMs: nowMs, work: undefined };
    const command = stopCommand(this.#place, run.key, terms, run.graceMs);
    const timeoutMs = run.graceMs + 2 * limits.remoteCommandMsMax;
    return parseRunFile(linesOf(await this.#outputOf(command, timeoutMs)), true);
  }

  async #outputOf(
    command: readonly string[],
    timeoutMs: number = limits.remoteCommandMsMax,
  ): Promise<string> {
    const { stdout } = await this.#shell.exec(command, { timeoutMs });
    return stdout;
  }
}
