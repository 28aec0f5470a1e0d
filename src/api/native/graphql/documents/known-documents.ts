import { createHash } from "node:crypto";
import type { DocumentNode } from "graphql";
import { AppError } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";

/**
 * The most recently checked documents: clients send the same few again and again. A client that knows the hash of one need not send its
 * text (Apollo's automatic persisted queries).
 */
export class KnownDocuments {
  readonly #read: (text: string) => DocumentNode;
  readonly #documents = new Map<string, DocumentNode>();
  readonly #texts = new Map<string, string>();
  #chars = 0;

  constructor(read: (text: string) => DocumentNode) {
    this.#read = read;
  }

  of(text: string): DocumentNode {
    const known = this.#documents.get(text);
    if (known !== undefined) {
      this.#documents.delete(text);
      this.#documents.set(text, known);
      return known;
    }
    const document = this.#read(text);
    this.#documents.set(text, document);
    this.#chars += text.length;
    for (const oldest of this.#documents.keys()) {
      const isFull =
        this.#documents.size > limits.graphqlDocumentsMax ||
        this.#chars > limits.graphqlDocumentsCharsMax;
      if (!isFull) break;
      this.#documents.delete(oldest);
      this.#chars -= oldest.length;
    }
    return document;
  }

  /** The text for a hash; if both are given they must match. */
  textOf(text: string | undefined, sha256: string): string {
    if (text === undefined) {
      const known = this.#texts.get(sha256);
      if (known !== undefined && this.#documents.has(known)) return known;
      // The message that clients look for before they send the document again with its text.
      throw new AppError("not_found", "PersistedQueryNotFound");
    }
    if (createHash("sha256").update(text).digest("hex") !== sha256) {
      const field = "extensions.persistedQuery.sha256Hash";
      throw new AppError("invalid_argument", "is not the hash of the query", { field });
    }
    this.#texts.delete(sha256);
    this.#texts.set(sha256, text);
    for (const oldest of this.#texts.keys()) {
      if (this.#texts.size <= limits.graphqlDocumentsMax) break;
      this.#texts.delete(oldest);
    }
    return text;
  }
}
