import { AppError } from "../../../lib/errors.ts";
import { checkRule } from "../../../lib/rules/check-rule.ts";
import { type Revision, revision, REVISION_RULE } from "../../model/ids.ts";

/** A command that applies only if its object has this revision; undefined: always. */
export interface Conditional {
  /** 0: only if there is none. */
  readonly ifRevision?: Revision | undefined;
}

/** Rejects a command for another revision than the newest: `present`. */
export function checkRevision(what: string, present: Revision, { ifRevision }: Conditional): void {
  if (ifRevision === undefined || ifRevision === present) return;
  const now = present === 0 ? "was never written" : `is at revision ${present}`;
  throw new AppError("conflict", `${what} ${now}, not at ${ifRevision}; read it and decide again`, {
    field: "ifRevision",
    revision: present,
  });
}

/** The condition that a caller sends. */
export function readCondition({
  ifRevision,
}: { readonly ifRevision?: number | undefined } = {}): Conditional {
  if (ifRevision === undefined) return {};
  return { ifRevision: revision(checkRule(ifRevision, "ifRevision", REVISION_RULE)) };
}
