import { createHash } from "node:crypto";
import type { SecretHasher } from "../ports/secret-hasher.ts";

/** Used like scrypt, without its cost: synchronous, so that simulations stay in step. */
export class QuickHasher implements SecretHasher {
  /** The number of computed hashes. */
  computed = 0;
  /** The part of them that scrypt would have computed. */
  slow = 0;
  #salt = 0;

  async hash(secret: string): Promise<string> {
    this.computed++;
    this.slow++;
    return digest(String(this.#salt++), secret);
  }

  hashRandom(secret: string): string {
    return `fast${digest(String(this.#salt++), secret)}`;
  }

  isSlow(hash: string): boolean {
    return !hash.startsWith("fast");
  }

  async isOf(hash: string, secret: string): Promise<boolean> {
    this.computed++;
    const isSlow = this.isSlow(hash);
    if (isSlow) this.slow++;
    const own = isSlow ? hash : hash.slice("fast".length);
    const [salt = ""] = own.split("$");
    return digest(salt, secret) === own;
  }
}

const digest = (salt: string, secret: string): string =>
  `${salt}$${createHash("sha256").update(`${salt} ${secret}`).digest("hex")}`;
