import { toError } from "../../core/jobspec/problems.ts";
import type { Jobspec } from "../../core/jobspec/model.ts";
import { invariant } from "../../lib/invariant.ts";
import type { DocumentReader } from "../../ports/document-reader.ts";
import { type DocumentTask, type ReadDocument, readDocument } from "./read-document.ts";

/** Reads everything at once, where nobody else waits: in tests and simulations. */
export const createInlineReader = (): DocumentReader =>
  toReader({
    read: async (task) => readDocument(task),
    checkRoom: () => undefined,
    waiting: () => 0,
    close: async () => undefined,
  });

export interface TaskReader {
  read(task: DocumentTask): Promise<ReadDocument>;
  checkRoom: DocumentReader["checkRoom"];
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
    jobspec: async (text) => jobspecOf(await tasks.read({ kind: "jobspec", text })),
    async graph(text) {
      const { graph } = await readGraph({ kind: "graph", text });
      invariant(graph !== undefined, "a graph was read");
      return graph;
    },
    registration: (body) => readGraph({ kind: "registration", body }),
    checkRoom: (kind) => tasks.checkRoom(kind),
    get waiting() {
      return tasks.waiting();
    },
    close: () => tasks.close(),
  };
}

function jobspecOf(read: ReadDocument): Jobspec {
  invariant(read.kind === "jobspec", "a jobspec was asked for");
  const { checked } = read;
  if (checked.kind === "valid") return checked.jobspec;
  throw toError(checked.problems, checked.count);
}
