import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Texts } from "./job/job.ts";
import { checkLabels } from "./texts.ts";

/**
 * Annotations that clients of a tree of objects (docs/coming-from/nexus.md) set on one of them, and
 * that no other table has a place for.
 */
export interface Note {
  /** The kind of the object and its id in Busbar: `Job/17`, `Edge/w1`, `SiteDC/edge-10`. */
  readonly id: string;
  readonly labels: Texts;
  readonly annotations: Texts;
  /** Counts up with every change. */
  readonly version: number;
  /** A client created the object before Busbar had one for it. */
  readonly declaredAtMs?: number;
  /** A client has deleted it: the tree does not show it any more. */
  readonly isHidden?: true;
}

/** Throws if it cannot be stored. */
export function checkNote(note: Note): Note {
  if (note.id.length > limits.noteIdLengthMax) throw invalid("metadata.name", "is too long");
  checkLabels(note.labels, "metadata.labels");
  let bytes = 0;
  for (const [name, value] of Object.entries(note.annotations)) bytes += name.length + value.length;
  if (bytes > limits.noteBytesMax) {
    throw invalid("metadata.annotations", `at most ${limits.noteBytesMax} characters in all`);
  }
  return note;
}
