import type { Graph } from "../core/graph/graph.ts";
import type { ReadSubsystems } from "../core/graph/subsystems/read-subsystems.ts";
import type { Jobspec } from "../core/jobspec/model.ts";
import type { JobspecTerms } from "../core/jobspec/read/parse.ts";

/** The body of a REST registration. The fields other than the graph are not checked yet. */
export interface ReadRegistration {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly graph: Graph | undefined;
}

/** A REST body with a jobspec. The other fields are not checked yet. */
export interface ReadJobspecBody {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly jobspec: Jobspec | undefined;
}

export type DocumentKind = "jobspec" | "graph";

/**
 * Reads documents of callers, which may be long or hostile.
 *
 * - It reads small documents at once. Larger ones never block the calling thread: another thread
 *   reads them, or this one does so in slices.
 * - It reads each document by itself, in bounded time and memory, and rejects a document beyond either bound
 *   with `exhausted`. It also rejects a document with `exhausted` when too many others wait.
 * - It rejects an invalid document with the error of the parser.
 */
export interface DocumentReader {
  jobspec(text: string, terms?: JobspecTerms): Promise<Jobspec>;
  /** A JSON body that has a jobspec as one of its fields. */
  jobspecBody(body: Uint8Array): Promise<ReadJobspecBody>;
  /** The text of a graph in JGF. */
  graph(text: string): Promise<Graph>;
  /** The JSON body of a registration. */
  registration(body: Uint8Array): Promise<ReadRegistration>;
  /** Resolves when the reader can accept a document of so many bytes; rejects with `exhausted` after a short wait. */
  room(kind: DocumentKind, bytes: number): Promise<void>;
  /** The document of a subsystem, as text or as JSON in bytes. */
  subsystem(document: string | Uint8Array): Promise<ReadSubsystems>;
  /** How many documents are being read or wait to be read. */
  readonly waiting: number;
  close(): Promise<void>;
}
