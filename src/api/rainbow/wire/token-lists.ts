import { hash, randomBytes } from "node:crypto";
import { limits } from "../../../limits.ts";
import type { Submitter } from "../../../core/access/principal.ts";
import type { Authenticator, ProvenSubmitter } from "../../../server/credentials/authenticator.ts";
import type { ClusterList } from "./decode.ts";
import { known } from "../operations.ts";
import { refuse } from "../status.ts";

const LENGTH_BYTES = 4;

/**
 * Clusters that a client may submit to. It sends the same ones, with their tokens, with every job: the server
 * caches a correct list by a keyed digest of its bytes, and does not parse or check it again while the
 * proof holds.
 */
export class TokenLists {
  readonly #key = randomBytes(32);
  readonly #known = new Map<string, ProvenSubmitter>();

  /** All or nothing: a client that sends a wrong token among right ones is rejected. */
  async submitterOf(
    authenticator: Pick<Authenticator, "submitter">,
    list: ClusterList,
  ): Promise<Submitter> {
    const digest = this.#digest(list);
    const before = this.#known.get(digest);
    if (before?.holds() === true) return before.principal;
    this.#known.delete(digest);
    // Entries without a name or a token are left out.
    const given = list.read().filter(({ name, token }) => name !== "" && token !== "");
    if (given.length === 0) throw refuse.noClusters();
    const shown = given.map(({ name, token }) => ({ cluster: name, token }));
    const proven = known(await authenticator.submitter(shown));
    this.#remember(digest, proven);
    return proven.principal;
  }

  #digest({ bytes }: ClusterList): string {
    let size = this.#key.length;
    for (const each of bytes) size += LENGTH_BYTES + each.length;
    const all = Buffer.allocUnsafe(size);
    let at = this.#key.copy(all);
    // Each piece has its length, so that no two lists have the same bytes.
    for (const each of bytes) {
      at = all.writeUInt32LE(each.length, at);
      at += each.copy(all, at);
    }
    return hash("sha256", all, "base64");
  }

  #remember(digest: string, proven: ProvenSubmitter): void {
    this.#known.set(digest, proven);
    const [oldest] = this.#known.keys();
    if (this.#known.size > limits.knownTokenListsMax && oldest !== undefined) {
      this.#known.delete(oldest);
    }
  }
}
