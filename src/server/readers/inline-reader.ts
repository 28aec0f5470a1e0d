import { toError } from "../../core/jobspec/read/problems.ts";
import { ReadSubsystems } from "../../core/graph/subsystems/read-subsystems.ts";
import { invariant } from "../../lib/invariant.ts";
import type { DocumentReader, ReadJobspecBody } from "../../ports/document-reader.ts";
import { type DocumentTask, type ReadDocument, readDocument } from "./read-document.ts";

/** Reads everything at once, where nobody else waits: in tests and simulations. */
export const createInlineReader = (): DocumentReader =>
  toReader({
    read: async (task) => readDocument(task),
    room: async () => undefined,
    waiting: () => 0,
    close: async () => undefined,
  });

export interface TaskReader {
  read(task: DocumentTask): Promise<ReadDocument>;
  room: DocumentReader["room"];
  waiting(): number;
  close(): Promise<void>;
}

/** The reader of documents over one of tasks. */
export function toReader(tasks: TaskReader): DocumentReader {
  const readGraph = async (task: DocumentTask) => {
    const read = await tasks.read(task);
    invariant(read.kind === "graph", "a graph was asked for");
    return read;
  };
  return {
    async jobspec(text, terms = {}) {
      const { jobspec } = jobspecOf(await tasks.read({ kind: "jobspec", text, terms }));
      invariant(jobspec !== undefined, "a jobspec was read");
      return jobspec;
    },
    jobspecBody: async (body) => jobspecOf(await tasks.read({ kind: "jobspec-body", body })),
    async graph(text) {
      const { graph } = await readGraph({ kind: "graph", text });
      invariant(graph !== undefined, "a graph was read");
      return graph;
    },
    registration: (body) => readGraph({ kind: "registration", body }),
    async subsystem(document) {
      const read = await tasks.read(
        typeof document === "string"
          ? { kind: "subsystem", text: document }
          : { kind: "subsystem-body", body: document },
      );
      invariant(read.kind === "subsystem", "a subsystem was asked for");
      return new ReadSubsystems(read.drafts);
    },
    room: (kind, bytes) => tasks.room(kind, bytes),
    get waiting() {
      return tasks.waiting();
    },
    close: () => tasks.close(),
  };
}

function jobspecOf(read: ReadDocument): ReadJobspecBody {
  invariant(read.kind === "jobspec", "a jobspec was asked for");
  const { checked, fields } = read;
  if (checked === undefined) return { fields, jobspec: undefined };
  if (checked.kind === "valid") return { fields, jobspec: checked.jobspec };
  throw toError(checked.problems, checked.count);
}
