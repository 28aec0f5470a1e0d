/**
 * Directories on a far machine for runs that named none. Making one is a process there, so those that
 * runs left empty serve others. The names are of this link alone: a start of an earlier one that is
 * still on its way must not find another run in its directory.
 */
export class WorkDirectories {
  readonly #prefix: string;
  readonly #clean: string[] = [];
  #made = 0;

  /** `link` is one word, another one for each link. */
  constructor(link: string) {
    this.#prefix = `work.${link}.`;
  }

  take(): string {
    const clean = this.#clean.pop();
    if (clean !== undefined) return clean;
    this.#made += 1;
    return `${this.#prefix}${this.#made}`;
  }

  /** It was left empty. */
  giveBack(name: string): void {
    this.#clean.push(name);
  }
}
