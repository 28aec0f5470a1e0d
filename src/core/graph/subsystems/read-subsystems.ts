import {
  isCompatibilitySpec,
  type NamedDraft,
  readCompatibilitySpec,
} from "./compatibility-spec.ts";
import { checkSubsystemName } from "./subsystem.ts";
import { readSubsystemDraft, type SubsystemDraft } from "./subsystem-draft.ts";

/** A document of a subsystem, or of several with names of their own, that is parsed already. */
export class ReadSubsystems {
  readonly #drafts: readonly (SubsystemDraft | NamedDraft)[];

  constructor(drafts: readonly (SubsystemDraft | NamedDraft)[]) {
    this.#drafts = drafts;
  }

  /** `name` is for a subsystem whose document does not name it. */
  named(name: string): readonly NamedDraft[] {
    return this.#drafts.map((each) => {
      if ("draft" in each) return each;
      checkSubsystemName(name);
      return { name, draft: each };
    });
  }
}

/** compspec's artifact describes several subsystems at once, each with its name. */
export const draftsOf = (document: unknown): readonly (SubsystemDraft | NamedDraft)[] =>
  isCompatibilitySpec(document) ? readCompatibilitySpec(document) : [readSubsystemDraft(document)];

export const readSubsystems = (document: unknown): ReadSubsystems =>
  new ReadSubsystems(draftsOf(document));
