import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { RemoteShell } from "../../../ports/remote-shell.ts";
import type { ProbedMachine } from "./probe.ts";

type Who = Pick<ProbedMachine, "hostname" | "identity" | "process" | "likeness" | "named">;

interface Holder extends Who {
  readonly shell: RemoteShell;
}

/**
 * The node name of a remote worker. A machine has one name, however often the program there reconnects;
 * several programs on it at the same time have one each: gs-blue, gs-blue-2. If another machine with
 * that host name was first, the name has a part of the machine's identity: gs-blue-3fa1c2.
 *
 * Several programs on a machine are distinguished by process, then by the likeness of the process, which a
 * restart does not change, and only then by the order in which they connect. The machine's disk holds both,
 * because the files of a node's runs are there under its name.
 */
export class NodeNames {
  readonly #holders = new Map<string, Holder>();
  /** The last name of a process: a reconnected link is for the same node. */
  readonly #byProcess = new Map<string, string>();
  /** Machines whose host name is that of another machine's node, as far as known. */
  readonly #refused = new Set<string>();

  /** The caller releases it. Throws `exhausted` when too many machines have that host name. */
  async claim(who: Who, shell: RemoteShell): Promise<string> {
    await this.#clear(who);
    const before = this.#byProcess.get(who.process);
    const isFree = before !== undefined && !this.#holders.has(before);
    const name = isFree ? before : (this.#known(who) ?? this.#first(who));
    this.#holders.set(name, { ...who, shell });
    this.#remember(who.process, name);
    return name;
  }

  release(name: string, shell: RemoteShell): void {
    if (this.#holders.get(name)?.shell === shell) this.#holders.delete(name);
  }

  /** The name belongs to another machine. False: no other name is left to try. */
  refuse({ identity, process }: Who): boolean {
    if (this.#refused.has(identity)) return false;
    if (this.#refused.size >= limits.remoteNamesMax) this.#refused.clear();
    this.#refused.add(identity);
    this.#byProcess.delete(process);
    return true;
  }

  /** Ends dead links: a worker may reconnect before the server notices the silence of its old link. */
  async #clear({ process, identity }: Who): Promise<void> {
    const held = [...this.#holders].filter(([, holder]) => holder.identity === identity);
    const checks = held.map(async ([name, holder]) => {
      const isSame = holder.process === process;
      if (!isSame && (await holder.shell.isThere())) return;
      holder.shell.close(new AppError("unavailable", "its machine opened another connection"));
      this.release(name, holder.shell);
    });
    await Promise.all(checks);
  }

  /** The name on its disk, or that of a process with the same likeness, if that is free. */
  #known(who: Who): string | undefined {
    const base = this.#baseFor(who);
    // Whatever its disk says: a machine only has its own names.
    const isOwn = (name: string): boolean =>
      name === base ||
      (name.startsWith(`${base}-`) && /^\d{1,4}$/.test(name.slice(base.length + 1)));
    const free = who.named.filter(({ name }) => isOwn(name) && !this.#holders.has(name));
    const same = free.find(({ process }) => process === who.process);
    const alike = free.filter(({ likeness }) => likeness === who.likeness).map(({ name }) => name);
    return same?.name ?? alike.sort((a, b) => a.length - b.length || (a < b ? -1 : 1))[0];
  }

  #baseFor({ hostname, identity }: Who): string {
    const plain = baseOf(hostname);
    const holder = this.#holders.get(plain);
    const isOthers = holder !== undefined && holder.identity !== identity;
    const isRefused = isOthers || this.#refused.has(identity);
    return isRefused ? `${plain}-${identity.slice(0, 6)}` : plain;
  }

  #first(who: Who): string {
    const base = this.#baseFor(who);
    const { hostname } = who;
    for (let number = 1; number <= limits.remoteNamesPerHostMax; number += 1) {
      const name = number === 1 ? base : `${base}-${number}`;
      if (!this.#holders.has(name)) return name;
    }
    throw new AppError("exhausted", `too many workers have the host name ${hostname}`);
  }

  #remember(process: string, name: string): void {
    this.#byProcess.delete(process);
    this.#byProcess.set(process, name);
    if (this.#byProcess.size <= limits.remoteNamesMax) return;
    for (const oldest of this.#byProcess.keys()) {
      this.#byProcess.delete(oldest);
      break;
    }
  }
}

/** A host name may contain any character. */
function baseOf(hostname: string): string {
  const plain = hostname
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]+/g, "-")
    .replaceAll(/^[-.]+|[-.]+$/g, "");
  return `gs-${(plain || "worker").slice(0, HOST_LENGTH_MAX)}`;
}

const HOST_LENGTH_MAX = 48;
