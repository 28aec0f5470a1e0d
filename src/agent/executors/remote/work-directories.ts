/**
 * Working directories on a remote machine for runs that named none. Making one costs a process there, so directories that runs left empty
 * serve other runs. The names belong to this link only: a start of an earlier link that is still on its way must not find another run in
 * its directory.
 */
export class WorkDirectories {
  readonly #prefix: string;
  readonly #clean: string[] = [];
  #made = 0;

  /** `link` is a word that is different for each link. */
  constructor(link: string) {
    this.#prefix = `work.${link}.`;
  }

  take(): string {
    const clean = this.#clean.pop();
    if (clean !== undefined) return clean;
    this.#made += 1;
    return `${this.#prefix}${this.#made}`;
  }

  /** The run left it empty. */
  giveBack(name: string): void {
    this.#clean.push(name);
  }
}
