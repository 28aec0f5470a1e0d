/** Randomness, injected: simulations replace it by a seeded source. */
export interface Random {
  /** A number in [0, 1). */
  fraction(): number;
  /** An unguessable text for keys and tokens: `bytes` random bytes in hexadecimal. */
  token(bytes: number): string;
}
