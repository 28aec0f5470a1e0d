/**
 * Makes of a secret text what may be stored, and tells whether a text is the one that it was made of.
 *
 * - A hash tells nothing of its text, two of the same text differ, and all that is needed to check
 *   one stands in it: hashes that were made with other settings stay good.
 * - `hash` and what compares with it are slow on purpose, and off the main thread: people choose texts
 *   that can be guessed. `hashRandom` is for texts of at least 122 random bits, which nobody can
 *   guess, and is fast. Comparing takes the same time for every text.
 * - A hash that is not ours is of no text.
 */
export interface SecretHasher {
  hash(secret: string): Promise<string>;
  hashRandom(secret: string): string;
  /** Whether comparing with it is slow. */
  isSlow(hash: string): boolean;
  isOf(hash: string, secret: string): Promise<boolean>;
}
