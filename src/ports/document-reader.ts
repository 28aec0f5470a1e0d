import type { Graph } from "../core/graph/graph.ts";
import type { ReadSubsystems } from "../core/graph/subsystems/read-subsystems.ts";
import type { Jobspec } from "../core/jobspec/model.ts";
import type { JobspecTerms } from "../core/jobspec/read/parse.ts";

/** A registration as REST has it: what stands beside the graph is not checked yet. */
export interface ReadRegistration {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly graph: Graph | undefined;
}

/** The same with a jobspec. */
export interface ReadJobspecBody {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly jobspec: Jobspec | undefined;
}

export type DocumentKind = "jobspec" | "graph";

/**
 * Reads documents of callers, which may be long and may mean harm.
 *
 * - Small ones are read at once. Larger ones never hold up the thread that asks: they are read
 *   elsewhere, or in slices.
 * - A document is read alone, in bounded time and memory: beyond either it is refused as `exhausted`.
 *   So is one for which too many others wait.
 * - What is wrong with a document is refused as its reader refuses it.
 */
export interface DocumentReader {
  jobspec(text: string, terms?: JobspecTerms): Promise<Jobspec>;
  /** A body with a jobspec as one of its fields, as JSON. */
  jobspecBody(body: Uint8Array): Promise<ReadJobspecBody>;
  /** The text of a graph in JGF. */
  graph(text: string): Promise<Graph>;
  /** The body of a registration, as JSON. */
  registration(body: Uint8Array): Promise<ReadRegistration>;
  /** Resolves when there is room for a document of so many bytes; soon rejects as `exhausted`. */
  room(kind: DocumentKind, bytes: number): Promise<void>;
  /** The document of a subsystem, as text or as JSON in bytes. */
  subsystem(document: string | Uint8Array): Promise<ReadSubsystems>;
  /** How many documents are being read or wait for that. */
  readonly waiting: number;
  close(): Promise<void>;
}
