import { hash, randomBytes } from "node:crypto";
import { limits } from "../../../limits.ts";
import type { Proof } from "../../../server/credentials/credentials.ts";
import type { ClusterList } from "./decode.ts";
import type { RainbowOperations } from "../operations.ts";
import { refuse } from "../status.ts";

const LENGTH_BYTES = 4;

interface Known {
  readonly names: readonly string[];
  readonly proof: Proof;
}

/**
 * Clusters that a client may submit to. It sends the same ones, with their tokens, with every job: a
 * list that was right is remembered by a keyed digest of its bytes, and neither read nor checked again
 * while the proof holds.
 */
export class TokenLists {
  readonly #key = randomBytes(32);
  readonly #known = new Map<string, Known>();

  /** All or nothing: whoever sends a wrong token with right ones is denied. */
  async namesOf(operations: RainbowOperations, list: ClusterList): Promise<readonly string[]> {
    const digest = this.#digest(list);
    const known = this.#known.get(digest);
    if (known?.proof.holds() === true) return known.names;
    this.#known.delete(digest);
    // Without a name or a token they are left out.
    const given = list.read().filter(({ name, token }) => name !== "" && token !== "");
    if (given.length === 0) throw refuse.noClusters();
    const shown = given.map(({ name, token }) => ({ cluster: name, token }));
    const proof = await operations.checkTokens(shown);
    if (proof === undefined) throw refuse.denied();
    const names = [...new Set(given.map(({ name }) => name))];
    this.#remember(digest, { names, proof });
    return names;
  }

  #digest({ bytes }: ClusterList): string {
    let size = this.#key.length;
    for (const each of bytes) size += LENGTH_BYTES + each.length;
    const all = Buffer.allocUnsafe(size);
    let at = this.#key.copy(all);
    // Each tells its own length, so that no two lists have the same bytes.
    for (const each of bytes) {
      at = all.writeUInt32LE(each.length, at);
      at += each.copy(all, at);
    }
    return hash("sha256", all, "base64");
  }

  #remember(digest: string, known: Known): void {
    this.#known.set(digest, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > limits.knownTokenListsMax && oldest !== undefined) {
      this.#known.delete(oldest);
    }
  }
}
