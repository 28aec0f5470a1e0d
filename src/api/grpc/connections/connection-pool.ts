import { limits } from "../../../limits.ts";

/**
 * Shares the file descriptors of a process among its ports, so that the callers of one port cannot take all of them. A port with fewer connections than
 * `guaranteed` always accepts one more; beyond that, ports take what is left.
 */
export class ConnectionPool {
  /** Of all ports together. */
  readonly connectionsMax: number;
  readonly #ports = new Set<PortConnections>();
  #refused = 0;

  constructor(descriptorsMax: number) {
    // Of few descriptors half are left for files, children and connections to others.
    const left = descriptorsMax - limits.descriptorsReserved;
    this.connectionsMax = Math.max(left, Math.floor(descriptorsMax / 2));
  }

  join(): PortConnections {
    const port: PortConnections = new PortConnections(() => this.#admits(port));
    this.#ports.add(port);
    return port;
  }

  leave(port: PortConnections): void {
    this.#ports.delete(port);
  }

  /** The number of connections of a port that callers of other ports cannot take. */
  get guaranteed(): number {
    const share = Math.floor(this.connectionsMax / 2 / Math.max(1, this.#ports.size));
    return Math.min(limits.connectionsGuaranteed, share);
  }

  /** The number of connections that were refused since the start. */
  get refused(): number {
    return this.#refused;
  }

  #admits(port: PortConnections): boolean {
    const { guaranteed } = this;
    let free = this.connectionsMax;
    for (const one of this.#ports) {
      free -= one === port ? one.open : Math.max(one.open, guaranteed);
    }
    const isAdmitted = free > 0 && port.open < limits.connectionsMax;
    if (!isAdmitted) this.#refused++;
    return isAdmitted;
  }
}

/** The connections of one port. */
export class PortConnections {
  readonly #admits: () => boolean;
  #open = 0;

  constructor(admits: () => boolean) {
    this.#admits = admits;
  }

  get open(): number {
    return this.#open;
  }

  /** Counts a connection. Returns false when there is no descriptor for it: then it must be closed. */
  admit(): boolean {
    const isAdmitted = this.#admits();
    if (isAdmitted) this.#open++;
    return isAdmitted;
  }

  /** An admitted connection has closed. */
  closed(): void {
    this.#open--;
  }
}
