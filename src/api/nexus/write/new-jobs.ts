import { AppError, invalid } from "../../../lib/errors.ts";
import type { Operations } from "../../../server/operations/operations.ts";
import { KINDS, type NexusKind } from "../model/kinds.ts";
import { displayOf, type Path } from "../model/names.ts";
import {
  CREATION_TIME_LABEL,
  JOB_ID_LABEL,
  looksForeign,
  SHARES_AS_LABEL,
} from "../model/project.ts";
import type { Reader } from "../tree/reader.ts";
import { countIn, type Received, UINT32_MAX } from "./received.ts";

interface NewJob {
  readonly name: string;
  readonly group: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly energy: { readonly wattSeconds: number };
}

export const alreadyExists = (kind: NexusKind, path: Path): AppError =>
  new AppError("already_exists", `${kind.crd} ${JSON.stringify(displayOf(path))} already exists`);

/** Converts a Job to a job of Busbar: labels hold values that Busbar has no field for. */
export function jobSpecOf(
  path: Path,
  { spec }: Received,
  given: Readonly<Record<string, string>>,
): NewJob {
  const { [SHARES_AS_LABEL]: _ours, ...theirs } = given;
  const [group = "", name = ""] = path;
  if (looksForeign(name)) {
    throw invalid("metadata.name", "must not end in a dot and a number: jobs of other doors do");
  }
  const wattSeconds = countIn(spec, "powerNeeded", "spec", UINT32_MAX);
  const jobId = countIn(spec, "jobId", "spec", Number.MAX_SAFE_INTEGER);
  const createdS = countIn(spec, "creationTime", "spec", Number.MAX_SAFE_INTEGER);
  const labels = {
    ...theirs,
    [JOB_ID_LABEL]: String(jobId),
    ...(createdS === 0 ? {} : { [CREATION_TIME_LABEL]: String(createdS) }),
  };
  return { name, group, labels, energy: { wattSeconds } };
}

/** Submits jobs with unique names. */
export class NewJobs {
  readonly #reader: Reader;
  /** Jobs that are being created: their groups, by name. */
  readonly #creating = new Map<string, Set<string>>();

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** Another client may create a job of the same name at the same moment, here or in another group. */
  async submit(operations: Operations, spec: NewJob): Promise<string> {
    const { name, group } = spec;
    const groups = this.#creating.get(name) ?? new Set();
    if (groups.has(group)) throw alreadyExists(KINDS.Job, [group, name]);
    const isAlone = groups.size === 0 && this.#reader.tree.find(KINDS.Job, name).length === 0;
    const labels = {
      ...spec.labels,
      ...(isAlone ? {} : { [SHARES_AS_LABEL]: `${name}.${group}` }),
    };
    this.#creating.set(name, groups.add(group));
    try {
      const submission = { spec: { ...spec, labels } };
      const { jobs } = await operations.submitJobs([submission], { allowUnsatisfiable: true });
      await this.#reader.caughtUp();
      return jobs[0]?.id ?? "";
    } finally {
      groups.delete(group);
      if (groups.size === 0) this.#creating.delete(name);
    }
  }
}
