import type { NexusKind } from "../model/kinds.ts";
import { hashName, isHashed, type Path } from "../model/names.ts";
import type { JobName, EdgeShare } from "../model/project.ts";

/** The target of a name. */
export type Ref =
  | { readonly kind: "Job"; readonly job: JobName }
  | { readonly kind: "JobInfo"; readonly share: EdgeShare }
  | { readonly kind: "Edge" | "EdgeDC"; readonly node: string; readonly path: Path }
  | { readonly kind: "Site" | "SiteDC" | "Jobgroup"; readonly name: string };

interface KnownName {
  /** Undefined: it no longer has a target. */
  readonly ref: () => Ref | undefined;
  readonly display: string;
  /** The revision of the event that it came with; 0: it existed before any watch. */
  readonly bornAt: number;
}

/** Finds objects by their names on the wire, and by the names that people chose. */
export class NameIndex {
  readonly #byHash = new Map<string, KnownName>();
  readonly #byDisplay = new Map<string, Set<string>>();

  /** All objects with the same name for people. */
  find(kind: NexusKind, name: string): readonly Ref[] {
    const exact = isHashed(name) ? this.#byHash.get(name)?.ref() : undefined;
    if (exact !== undefined) return exact.kind === kind.kind ? [exact] : [];
    const found: Ref[] = [];
    for (const hash of this.#byDisplay.get(`${kind.kind}/${name}`) ?? []) {
      const ref = this.#byHash.get(hash)?.ref();
      if (ref?.kind === kind.kind) found.push(ref);
    }
    return found;
  }

  at(kind: NexusKind, path: Path): Ref | undefined {
    const ref = this.#byHash.get(hashName(kind, path))?.ref();
    return ref?.kind === kind.kind ? ref : undefined;
  }

  bornAt(name: string): number {
    return this.#byHash.get(name)?.bornAt ?? 0;
  }

  add(kind: NexusKind, path: Path, bornAt: number, ref: () => Ref | undefined): void {
    const hash = hashName(kind, path);
    const display = `${kind.kind}/${path.at(-1)}`;
    this.#byHash.set(hash, { ref, display, bornAt });
    const known = this.#byDisplay.get(display);
    if (known === undefined) this.#byDisplay.set(display, new Set([hash]));
    else known.add(hash);
  }

  remove(kind: NexusKind, path: Path): void {
    const hash = hashName(kind, path);
    const known = this.#byHash.get(hash);
    if (known === undefined || known.ref() !== undefined) return; // another object has the name by now
    this.#byHash.delete(hash);
    const same = this.#byDisplay.get(known.display);
    same?.delete(hash);
    if (same?.size === 0) this.#byDisplay.delete(known.display);
  }
}
