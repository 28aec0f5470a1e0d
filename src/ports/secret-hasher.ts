/**
 * Hashes secrets, so that only hashes are stored, and compares secrets with these hashes.
 *
 * - A hash reveals nothing about its secret, and two hashes of one secret differ. A hash contains its own
 *   settings, so that hashes made with other settings stay valid.
 * - `hash` and comparisons with its hashes are slow on purpose, and run off the main thread: people choose secrets
 *   that can be guessed. `hashRandom` is for secrets of at least 122 random bits, which nobody can
 *   guess, and is fast. A comparison takes the same time for every secret.
 * - A hash in an unknown format matches no secret.
 */
export interface SecretHasher {
  hash(secret: string): Promise<string>;
  hashRandom(secret: string): string;
  /** Whether a comparison with this hash is slow. */
  isSlow(hash: string): boolean;
  isOf(hash: string, secret: string): Promise<boolean>;
}
