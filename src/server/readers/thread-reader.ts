import { extname } from "node:path";
import { adoptGraph } from "../../core/graph/packed-graph.ts";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type { DocumentReader } from "../../ports/document-reader.ts";
import { inSlices } from "../in-slices.ts";
import { toReader } from "./inline-reader.ts";
import type { ThreadAnswer } from "./messages.ts";
import { type DocumentTask, type ReadDocument, readDocument } from "./read-document.ts";
import { ReaderThread } from "./reader-thread.ts";

// The worker stands beside this file, as a source or compiled like it.
const workerFile = new URL(`./reader-worker${extname(import.meta.url)}`, import.meta.url);

/**
 * Reads large documents in two threads: one for jobspecs, one for graphs, so that neither waits for
 * the other kind. Each has a queue of its own.
 */
export function createThreadReader(clock: Clock): DocumentReader {
  const thread = (timeoutMs: number, memoryMb: number): ReaderThread =>
    new ReaderThread({ file: workerFile, clock, timeoutMs, memoryMb });
  const jobspecs = thread(limits.jobspecReadMsMax, limits.jobspecReadMemoryMb);
  const graphs = thread(limits.graphReadMsMax, limits.graphReadMemoryMb);
  return toReader({
    async read(task) {
      if (sizeOf(task) <= inlineMax(task)) return readDocument(task);
      return toRead(await (task.kind === "jobspec" ? jobspecs : graphs).read(task, sizeOf(task)));
    },
    checkRoom: (kind) => (kind === "jobspec" ? jobspecs : graphs).checkRoom(0),
    waiting: () => jobspecs.waiting + graphs.waiting,
    close: async () => void (await Promise.all([jobspecs.close(), graphs.close()])),
  });
}

const sizeOf = (task: DocumentTask): number =>
  task.kind === "registration" ? task.body.length : task.text.length;

const inlineMax = ({ kind }: DocumentTask): number =>
  kind === "jobspec" ? limits.jobspecInlineCharsMax : limits.graphInlineBytesMax;

async function toRead(answer: ThreadAnswer): Promise<ReadDocument> {
  switch (answer.kind) {
    case "jobspec":
      return answer;
    case "graph": {
      const graph = answer.packed && (await inSlices(adoptGraph(answer.packed)));
      return { kind: "graph", graph, fields: answer.fields };
    }
    case "refused": {
      const { code, message, field } = answer;
      throw new AppError(code, message, field === undefined ? {} : { field });
    }
  }
}
