import {
  isCompatibilitySpec,
  type NamedDraft,
  readCompatibilitySpec,
} from "./compatibility-spec.ts";
import { checkSubsystemName } from "./subsystem.ts";
import { readSubsystemDraft, type SubsystemDraft } from "./subsystem-draft.ts";

/** A document of a subsystem, or of several with names of their own, that was read already. */
export class ReadSubsystems {
  readonly #drafts: readonly (SubsystemDraft | NamedDraft)[];

  constructor(drafts: readonly (SubsystemDraft | NamedDraft)[]) {
    this.#drafts = drafts;
  }

  /** `name` is for one that has none of its own. */
  named(name: string): readonly NamedDraft[] {
    return this.#drafts.map((each) => {
      if ("draft" in each) return each;
      checkSubsystemName(name);
      return { name, draft: each };
    });
  }
}

/** compspec's artifact describes several at once, each under a name of its own. */
export const draftsOf = (document: unknown): readonly (SubsystemDraft | NamedDraft)[] =>
  isCompatibilitySpec(document) ? readCompatibilitySpec(document) : [readSubsystemDraft(document)];

export const readSubsystems = (document: unknown): ReadSubsystems =>
  new ReadSubsystems(draftsOf(document));
