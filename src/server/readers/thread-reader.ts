import { extname } from "node:path";
import { adoptGraph } from "../../core/graph/packed-graph.ts";
import { adoptSubsystem } from "../../core/graph/subsystems/packed-subsystem.ts";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type { DocumentKind, DocumentReader } from "../../ports/document-reader.ts";
import { inSlices } from "../loop/in-slices.ts";
import { toReader } from "./inline-reader.ts";
import type { ThreadAnswer } from "./messages.ts";
import { type DocumentTask, type ReadDocument, readDocument } from "./read-document.ts";
import { ReaderThread } from "./reader-thread.ts";

// The worker file is next to this one, as source or compiled.
const workerFile = new URL(`./reader-worker${extname(import.meta.url)}`, import.meta.url);

/**
 * Reads large documents in two threads: one for jobspecs, one for graphs, so that neither waits for the other kind. Each thread has its own
 * queue.
 */
export function createThreadReader(clock: Clock): DocumentReader {
  const thread = (timeoutMs: number, memoryMb: number): ReaderThread =>
    new ReaderThread({ file: workerFile, clock, timeoutMs, memoryMb });
  const jobspecs = thread(limits.jobspecReadMsMax, limits.jobspecReadMemoryMb);
  const graphs = thread(limits.graphReadMsMax, limits.graphReadMemoryMb);
  const threadOf = (kind: DocumentKind): ReaderThread => (kind === "jobspec" ? jobspecs : graphs);
  return toReader({
    async read(task) {
      if (sizeOf(task) <= inlineMax(task)) return readDocument(task);
      return toRead(await threadOf(kindOf(task)).read(task, sizeOf(task)));
    },
    room: (kind, bytes) => threadOf(kind).room(bytes),
    waiting: () => jobspecs.waiting + graphs.waiting,
    close: async () => void (await Promise.all([jobspecs.close(), graphs.close()])),
  });
}

const sizeOf = (task: DocumentTask): number =>
  "body" in task ? task.body.length : task.text.length;

const kindOf = ({ kind }: DocumentTask): DocumentKind =>
  kind === "jobspec" || kind === "jobspec-body" ? "jobspec" : "graph";

const inlineMax = (task: DocumentTask): number =>
  kindOf(task) === "jobspec" ? limits.jobspecInlineCharsMax : limits.graphInlineBytesMax;

async function toRead(answer: ThreadAnswer): Promise<ReadDocument> {
  switch (answer.kind) {
    case "jobspec":
      return answer;
    case "graph": {
      const graph = answer.packed && (await inSlices(adoptGraph(answer.packed)));
      return { kind: "graph", graph, fields: answer.fields };
    }
    case "subsystem": {
      const drafts = [];
      for (const { name, packed } of answer.drafts) {
        const draft = await inSlices(adoptSubsystem(packed));
        drafts.push(name === undefined ? draft : { name, draft });
      }
      return { kind: "subsystem", drafts };
    }
    case "refused": {
      const { code, problem, field } = answer;
      throw new AppError(code, problem, { field });
    }
  }
}
