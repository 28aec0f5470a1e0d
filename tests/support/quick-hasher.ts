import { createHash } from "node:crypto";
import type { SecretHasher } from "../../src/ports/secret-hasher.ts";

/** As scrypt is used, and without its price: at once, so that simulations stay in step. */
export class QuickHasher implements SecretHasher {
  /** How often something was computed. */
  computed = 0;
  #salt = 0;

  async hash(secret: string): Promise<string> {
    this.computed++;
    return digest(String(this.#salt++), secret);
  }

  async isOf(hash: string, secret: string): Promise<boolean> {
    this.computed++;
    const [salt = ""] = hash.split("$");
    return digest(salt, secret) === hash;
  }
}

const digest = (salt: string, secret: string): string =>
  `${salt}$${createHash("sha256").update(`${salt} ${secret}`).digest("hex")}`;
