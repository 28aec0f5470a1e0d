import type { ConnectionBytes, RequestBytes, RequestOwner } from "./request-bytes.ts";

/** Ensures that all bytes of one request are released, once. */
export class RequestHold {
  readonly connection: ConnectionBytes;
  readonly owner: RequestOwner;
  readonly #all: RequestBytes;
  sinceMs: number;
  markMs: number;
  /** The size it waits for. */
  wanted = 0;
  #bytes = 0;
  #small = 0;
  #large = 0;
  #markBytes = 0;
  #isOpen = false;
  #isEnded = false;

  constructor(all: RequestBytes, connection: ConnectionBytes, owner: RequestOwner) {
    this.#all = all;
    this.connection = connection;
    this.owner = owner;
    this.sinceMs = all.nowMs();
    this.markMs = this.sinceMs;
  }

  get isLarge(): boolean {
    return this.#large > 0;
  }

  get grownBytes(): number {
    return this.#bytes - this.#markBytes;
  }

  /** Its progress counts from now on. */
  mark(): void {
    this.markMs = this.#all.nowMs();
    this.#markBytes = this.#bytes;
  }

  /** Its sender has more to send. Throws the error to answer with. */
  begin(): void {
    if (this.#isOpen || this.#isEnded) return;
    this.#chargeSmall(this.#all.limits.openRequestBytes);
    this.#isOpen = true;
    this.mark();
    this.sinceMs = this.markMs;
    this.#all.touch(this);
  }

  /**
   * More bytes have arrived, of a message of `announced` bytes. Returns false when the source must stop until it is resumed. Throws the
   * error to answer with.
   */
  arrived(bytes: number, announced: number): boolean {
    if (this.#isEnded) return true;
    this.#bytes += bytes;
    if (this.#isOpen) this.#all.touch(this);
    const { smallBytes } = this.#all.limits;
    this.#settleSmall();
    const want = Math.max(announced, this.#bytes);
    if (this.#bytes <= smallBytes || want <= this.#large) return true;
    const more = want - this.#large;
    if (this.#all.takeLarge(this, more)) {
      this.#large += more;
      return true;
    }
    this.wanted = more;
    this.#all.wait(this);
    return this.wanted === 0;
  }

  granted(): void {
    this.#large += this.wanted;
    this.wanted = 0;
    this.mark();
    this.sinceMs = this.markMs; // a delay of this server is not the sender's
    if (this.#isOpen) this.#all.touch(this);
    this.owner.resume();
  }

  /** The message is complete: it is held, and no longer dropped. */
  complete(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#all.leave(this);
    this.#chargeSmall(-this.#all.limits.openRequestBytes);
  }

  /** Releases bytes that were handled. */
  release(bytes: number): void {
    if (this.#isEnded) return;
    this.#bytes = Math.max(0, this.#bytes - bytes);
    this.#settleSmall();
    if (this.#bytes > this.#all.limits.smallBytes) return;
    const large = this.#large;
    this.#large = 0;
    this.#all.giveLarge(this, large);
  }

  /** Releases everything. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#isOpen = false;
    this.#all.leave(this);
    this.#bytes = 0;
    this.#all.giveSmall(this, this.#small);
    this.#small = 0;
    const large = this.#large;
    this.#large = 0;
    this.#all.giveLarge(this, large);
  }

  /** The reserve covers the first bytes; the granted memory covers the rest. */
  #settleSmall(): void {
    const { smallBytes, openRequestBytes } = this.#all.limits;
    const due = Math.min(this.#bytes, smallBytes) + (this.#isOpen ? openRequestBytes : 0);
    this.#chargeSmall(due - this.#small);
  }

  #chargeSmall(bytes: number): void {
    if (bytes > 0) this.#all.takeSmall(this, bytes);
    else if (bytes < 0) this.#all.giveSmall(this, -bytes);
    this.#small += bytes;
  }
}
