import type { KindName } from "../model/kinds.ts";
import type { NexusObject } from "../model/object.ts";
import { JOB_ID_LABEL, type JobName } from "../model/project.ts";
import type { EnergyJobView } from "../model/views.ts";

/** The kind and the rest of the id of a note. */
export function splitId(id: string): readonly [KindName, string] {
  const slash = id.indexOf("/");
  return [id.slice(0, slash) as KindName, id.slice(slash + 1)];
}

/** The same object as of a later revision. */
export const at = (object: NexusObject, revision: number): NexusObject => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: String(revision) },
});

/** The rest of the data about a job that is no longer retained. */
export const goneJob = ({ id, group, display }: JobName): EnergyJobView =>
  ({
    id,
    spec: { name: display, group, labels: { [JOB_ID_LABEL]: id } },
    state: "succeeded",
    tasks: { succeeded: 1 },
    taskTotal: 1,
    submittedAtMs: 0,
    revision: 0,
  }) as unknown as EnergyJobView;
