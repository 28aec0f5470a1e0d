import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Credential, CredentialRef } from "../../core/model/credential.ts";
import type { State } from "../../core/state/state.ts";
import { isLongerText } from "../../lib/rules/check-rule.ts";
import { limits } from "../../limits.ts";
import type { SecretHasher } from "../../ports/secret-hasher.ts";
import { CheckTurns } from "./check-turns.ts";

interface Looking {
  readonly hasher: SecretHasher;
  /** The newest state. It may not be durable yet; that reveals nothing (see `isValid`). */
  readonly state: () => State;
}

/** A secret, and the credential that the caller says it is. */
export interface Shown {
  readonly id: CredentialRef;
  readonly secret: string;
}

/** A successful check. */
export interface Proof {
  /** Whether no credential or cluster has changed since the check. */
  holds(): boolean;
}

/**
 * Checks secrets of callers.
 *
 * Doors check every request, and hashing a secret that people chose is slow on purpose. So this class remembers
 * correct secrets, as digests with a key of this process, beside the row; a new row therefore starts without one. It
 * computes the hash of a wrong secret each time. It does the same work when there is no row to compare with, so that
 * the time of an answer does not reveal which clusters exist.
 */
export class Credentials {
  readonly #hasher: SecretHasher;
  readonly #state: () => State;
  readonly #key = randomBytes(32).toString("hex");
  readonly #known = new WeakMap<Credential, Buffer>();
  readonly #globalTokens = new WeakMap<Credential, string>();
  /** The hash of a random secret that nobody knows; computed when it is first needed. */
  #nobody: Promise<string> | undefined = undefined;
  readonly #nobodyFast: string;
  /** Checks under way. Callers that show the same secret at once share one, as all agents do after a restart. */
  readonly #running = new Map<string, Promise<boolean>>();
  readonly #turns = new CheckTurns();
  #unnamed = 0;

  constructor({ hasher, state }: Looking) {
    this.#hasher = hasher;
    this.#state = state;
    this.#nobodyFast = hasher.hashRandom(randomBytes(16).toString("hex"));
  }

  /** The global token, if there is one and this process knows its text. */
  get globalToken(): string | undefined {
    const row = this.#state().credentials.get({ kind: "global-token" });
    return row && this.#globalTokens.get(row);
  }

  /** Call this when the global token is stored: it becomes the token of registered clusters. */
  noteGlobalToken(text: string): void {
    const row = this.#state().credentials.get({ kind: "global-token" });
    if (row !== undefined) this.#globalTokens.set(row, text);
  }

  /** The hash of a secret that `newSecret` made. */
  hashRandom(secret: string): string {
    return this.#hasher.hashRandom(secret);
  }

  hash(secret: string): Promise<string> {
    return this.#inTurn(() => this.#hasher.hash(secret));
  }

  /**
   * A row that is not durable yet may decide the answer: its secret is sent only when the row is durable, and
   * changes that follow from the answer are stored after the row.
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
   * Whether all are correct; the first wrong one ends the check. The answer holds until any credential or
   * cluster changes: until then the same secrets need no second check.
   */
  async prove(shown: readonly Shown[]): Promise<Proof | undefined> {
    const version = this.#version;
    // A few at a time: other callers wait for checks too.
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

  /** Whether this is the secret of exactly this credential. */
  async isCurrent(id: CredentialRef, secret: string): Promise<boolean> {
    const row = this.#state().credentials.get(id);
    if (row === undefined) return false;
    return this.#isKnown(row, secret) || this.#isOf(row, secret);
  }

  /** Every row whose secret would be accepted; undefined for a missing row, which costs the same time. */
  #rowsFor(
    id: CredentialRef,
  ): readonly { readonly kind: CredentialRef["kind"]; readonly row: Credential | undefined }[] {
    const { credentials, clusters } = this.#state();
    const own = { kind: id.kind, row: credentials.get(id) };
    if (id.kind !== "cluster-token") return [own];
    const global = credentials.get({ kind: "global-token" });
    if (global === undefined) return [own];
    // The global one first: clients often show it for many clusters at once.
    const isThere = clusters.get(id.cluster) !== undefined;
    return [{ kind: "global-token", row: isThere ? global : undefined }, own];
  }

  #digest(row: Credential, secret: string): Buffer {
    // In one call: a submission may name a hundred clusters, each with a check.
    return hash("sha256", `${this.#key}\0${row.hash}\0${secret}`, "buffer");
  }

  #isKnown(row: Credential, secret: string): boolean {
    const known = this.#known.get(row);
    return known !== undefined && timingSafeEqual(known, this.#digest(row, secret));
  }

  /** Takes as long as the slowest check of this kind. */
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
    this.#turns.renew(name);
    const running =
      this.#running.get(name) ?? (isSlow ? this.#turns.run(name, compare) : compare());
    this.#running.set(name, running);
    try {
      const isOf = await running;
      if (isOf) this.#known.set(row, digest);
      return isOf;
    } finally {
      this.#running.delete(name);
    }
  }

  /** A check that no other caller shares. */
  #inTurn<T>(compute: () => Promise<T>): Promise<T> {
    return this.#turns.run(`${this.#unnamed++}`, compute);
  }
}

/** A random UUID (version 4): clients of rainbow expect secrets in this form. */
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
