import { constants, setPriority } from "node:os";
import { parentPort } from "node:worker_threads";
import { packGraph, transferOf } from "../../core/graph/packed-graph.ts";
import {
  packSubsystem,
  transferOfSubsystem,
} from "../../core/graph/subsystems/packed-subsystem.ts";
import { AppError, describeChain } from "../../lib/errors.ts";
import { invariant } from "../../lib/invariant.ts";
import type { ThreadAnswer } from "./messages.ts";
import { type DocumentTask, readDocument } from "./read-document.ts";

/** A quarter of a core beside a busy thread of normal priority: documents have time limits. */
const READER_NICENESS = constants.priority.PRIORITY_BELOW_NORMAL / 2;

// The entry point of a thread that reads documents of callers, one after another.

invariant(parentPort !== null, "this file runs as a worker thread");
const port = parentPort;

// Where cores are few, the thread that answers all callers goes first. Linux sets the priority of this thread alone; other systems would
// set that of the whole process.
if (process.platform === "linux") setPriority(READER_NICENESS);

port.on("message", (task: DocumentTask) => {
  const [answer, transfer] = answerTo(task);
  port.postMessage(answer, transfer);
});

function answerTo(task: DocumentTask): readonly [ThreadAnswer, ArrayBuffer[]] {
  try {
    const read = readDocument(task);
    if (read.kind === "jobspec") return [read, []];
    if (read.kind === "subsystem") {
      const drafts = read.drafts.map((each) => {
        const [name, draft] = "draft" in each ? [each.name, each.draft] : [undefined, each];
        return { name, packed: packSubsystem(draft) };
      });
      const transfer = drafts.flatMap(({ packed }) => transferOfSubsystem(packed));
      return [{ kind: "subsystem", drafts }, transfer];
    }
    const packed = read.graph && packGraph(read.graph);
    const answer = { kind: "graph", packed, fields: read.fields } as const;
    return [answer, packed === undefined ? [] : transferOf(packed)];
  } catch (error) {
    const known = AppError.from(error, `read a ${task.kind}: ${describeChain(error)}`);
    const { code, problem, field } = known;
    return [{ kind: "refused", code, problem, field }, []];
  }
}
