/** Headers that cannot be decoded: the connection cannot continue. */
export class HpackError extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = "HpackError";
  }
}
