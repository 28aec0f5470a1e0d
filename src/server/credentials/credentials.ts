import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Credential, CredentialRef } from "../../core/model/credential.ts";
import type { State } from "../../core/state/state.ts";
import { isLongerText } from "../../lib/rules/check-rule.ts";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { SecretHasher } from "../../ports/secret-hasher.ts";

interface Looking {
  readonly hasher: SecretHasher;
  /** The newest state; that it may be ahead of the disk gives nothing away (see `isValid`). */
  readonly state: () => State;
}

/** A text, and what it is said to be. */
export interface Shown {
  readonly id: CredentialRef;
  readonly secret: string;
}

/** That secrets were right. */
export interface Proof {
  /** Whether nothing has changed that it rests on. */
  holds(): boolean;
}

/**
 * Checks secrets that callers show.
 *
 * Doors do so for every request, and a hash of a text that people chose is slow on purpose. So what was right is remembered:
 * beside the row, as a keyed digest with a key of this process, and thus forgotten when the row is
 * replaced. A wrong one is computed each time, and the same is done where there is nothing to
 * compare with, so that time does not tell which clusters there are.
 */
export class Credentials {
  readonly #hasher: SecretHasher;
  readonly #state: () => State;
  readonly #key = randomBytes(32).toString("hex");
  readonly #known = new WeakMap<Credential, Buffer>();
  readonly #globalTokens = new WeakMap<Credential, string>();
  /** Of a text that nobody has; made when it is needed. */
  #nobody: Promise<string> | undefined = undefined;
  readonly #nobodyFast: string;
  /** The same text is computed once, however many show it at once: all agents, after a restart. */
  readonly #running = new Map<string, Promise<boolean>>();
  #busy = 0;
  readonly #waiting: (() => void)[] = [];

  constructor({ hasher, state }: Looking) {
    this.#hasher = hasher;
    this.#state = state;
    this.#nobodyFast = hasher.hashRandom(randomBytes(16).toString("hex"));
  }

  /** The text of the global token, if there is one and this process was given it. */
  get globalToken(): string | undefined {
    const row = this.#state().credentials.get({ kind: "global-token" });
    return row && this.#globalTokens.get(row);
  }

  /** To be called when it is stored: registered clusters get it as their token. */
  noteGlobalToken(text: string): void {
    const row = this.#state().credentials.get({ kind: "global-token" });
    if (row !== undefined) this.#globalTokens.set(row, text);
  }

  /** Of a text that `newSecret` made. */
  hashRandom(secret: string): string {
    return this.#hasher.hashRandom(secret);
  }

  hash(secret: string): Promise<string> {
    return this.#inTurn(() => this.#hasher.hash(secret));
  }

  /**
   * A row that is not durable yet may answer: nobody was told its text before it is, and what
   * follows from the answer is stored after it.
   */
  async isValid(id: CredentialRef, secret: string): Promise<boolean> {
    if (isLongerText(secret, limits.secretLengthMax)) return false;
    const rows = this.#rowsFor(id);
    if (rows.some(({ row }) => row !== undefined && this.#isKnown(row, secret))) return true;
    for (const { kind, row } of rows) {
      if (row === undefined) await this.#compareWithNobody(kind, secret);
      else if (await this.#isOf(row, secret)) return true;
    }
    return false;
  }

  /**
   * Whether all are right; the first wrong one ends it. The answer holds until any credential or
   * cluster changes: who shows the same again need not be asked before.
   */
  async prove(shown: readonly Shown[]): Promise<Proof | undefined> {
    const version = this.#version;
    // A few at once: others have secrets to be checked too.
    for (let at = 0; at < shown.length; at += limits.secretChecksMax) {
      const some = shown.slice(at, at + limits.secretChecksMax);
      const right = await Promise.all(some.map(({ id, secret }) => this.isValid(id, secret)));
      if (right.includes(false)) return undefined;
    }
    return { holds: () => this.#version === version };
  }

  get #version(): string {
    const { credentials, clusters } = this.#state();
    return `${credentials.version}.${clusters.version}`;
  }

  /** Whether this and no other credential has this text. */
  async isCurrent(id: CredentialRef, secret: string): Promise<boolean> {
    const row = this.#state().credentials.get(id);
    if (row === undefined) return false;
    return this.#isKnown(row, secret) || this.#isOf(row, secret);
  }

  /** Every row whose text would do; undefined where there is none, at the same cost. */
  #rowsFor(
    id: CredentialRef,
  ): readonly { readonly kind: CredentialRef["kind"]; readonly row: Credential | undefined }[] {
    const { credentials, clusters } = this.#state();
    const own = { kind: id.kind, row: credentials.get(id) };
    if (id.kind !== "cluster-token") return [own];
    const global = credentials.get({ kind: "global-token" });
    if (global === undefined) return [own];
    // The global one first: who has it often shows it for many clusters at once.
    const isThere = clusters.get(id.cluster) !== undefined;
    return [{ kind: "global-token", row: isThere ? global : undefined }, own];
  }

  #digest(row: Credential, secret: string): Buffer {
    // In one call: this is done for every cluster of every submission that names a hundred.
    return hash("sha256", `${this.#key}\0${row.hash}\0${secret}`, "buffer");
  }

  #isKnown(row: Credential, secret: string): boolean {
    const known = this.#known.get(row);
    return known !== undefined && timingSafeEqual(known, this.#digest(row, secret));
  }

  /** As slow as with the slowest of its kind. */
  async #compareWithNobody(kind: CredentialRef["kind"], secret: string): Promise<void> {
    if (
      !this.#state().credentials.some(
        ({ id, hash }) => id.kind === kind && this.#hasher.isSlow(hash),
      )
    ) {
      await this.#hasher.isOf(this.#nobodyFast, secret);
      return;
    }
    this.#nobody ??= this.#hasher.hash(randomBytes(16).toString("hex"));
    const nobody = await this.#nobody;
    await this.#inTurn(() => this.#hasher.isOf(nobody, secret));
  }

  async #isOf(row: Credential, secret: string): Promise<boolean> {
    const digest = this.#digest(row, secret);
    const name = digest.toString("base64");
    const compare = (): Promise<boolean> => this.#hasher.isOf(row.hash, secret);
    const isSlow = this.#hasher.isSlow(row.hash);
    const running = this.#running.get(name) ?? (isSlow ? this.#inTurn(compare) : compare());
    this.#running.set(name, running);
    try {
      const isOf = await running;
      if (isOf) this.#known.set(row, digest);
      return isOf;
    } finally {
      this.#running.delete(name);
    }
  }

  /** Whoever guesses keeps the others waiting, but neither a processor for himself nor memory. */
  async #inTurn<T>(compute: () => Promise<T>): Promise<T> {
    if (this.#waiting.length >= limits.secretChecksWaitingMax) {
      throw new AppError("exhausted", "too many secrets are being checked; try again later");
    }
    if (this.#busy >= limits.secretChecksMax) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#busy++;
    try {
      return await compute();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#busy--;
      else next(); // goes on in our place
    }
  }
}

/** A random UUID (version 4): what rainbow's clients expect a secret to look like. */
export function newSecret(random: { token(bytes: number): string }): string {
  const hex = random.token(16);
  const variant = "89ab"[Number.parseInt(hex.charAt(16), 16) % 4];
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return parts.join("-");
}
