import type { NexusKind } from "../model/kinds.ts";
import type { Path } from "../model/names.ts";
import type { Ref } from "../tree/name-index.ts";
import { noteId } from "../tree/notes-book.ts";

/** The key of a note about an object. */
interface Noted {
  readonly id: string;
  readonly path: Path;
}

/** The note of an object, by its counterpart in Busbar. */
export function notedAt(of: Ref | NexusKind): Noted {
  if ("crd" in of) return { id: noteId(of.kind, "default"), path: [] };
  const path = pathOfRef(of);
  switch (of.kind) {
    case "Job":
      return { id: noteId("Job", of.job.id), path };
    case "JobInfo":
      return { id: noteId("JobInfo", of.share.task.id), path };
    case "Edge":
    case "EdgeDC":
      return { id: noteId(of.kind, of.node), path };
    case "Site":
    case "SiteDC":
    case "Jobgroup":
      return { id: noteId(of.kind, of.name), path };
  }
}

export function pathOfRef(ref: Ref | undefined): Path {
  switch (ref?.kind) {
    case undefined:
      return [];
    case "Job":
      return [ref.job.group, ref.job.display];
    case "JobInfo":
      return [ref.share.site, ref.share.edge, ref.share.name];
    case "Edge":
    case "EdgeDC":
      return ref.path;
    case "Site":
    case "SiteDC":
    case "Jobgroup":
      return [ref.name];
  }
}
