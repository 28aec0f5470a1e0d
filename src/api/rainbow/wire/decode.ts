import {
  bytesOf,
  numberOf,
  readFields,
  readFieldsAndRuns,
  textOf,
  toText,
  type WireField,
} from "./fields.ts";

/**
 * The form of an answer that a client reads: that of the first generation, that of the newest, or (when a request does not show it) one
 * that all of them read.
 */
export type AnswerForm = "first" | "newest" | "any";

/** A request to submit, whichever generation of client wrote it. */
export type SubmitRequest = CommandRequest | JobspecRequest;

/** Generations A0, A and B: one cluster, and a line to run. */
export interface CommandRequest {
  readonly kind: "command";
  readonly name: string;
  readonly cluster: string;
  readonly token: string;
  readonly nodes: number;
  readonly tasks: number;
  readonly command: string;
}

/** Generations C, D and E: matching clusters, and a jobspec. */
export interface JobspecRequest {
  readonly kind: "jobspec";
  readonly name: string;
  readonly clusters: ClusterList;
  readonly jobspec: string;
  /** Empty: the server's. */
  readonly algorithm: string;
  readonly options: Readonly<Record<string, string>>;
  readonly satisfyOnly: boolean;
  readonly form: AnswerForm;
}

/** Clusters with their tokens, parsed on demand: most clients send the same ones again. */
export interface ClusterList {
  /** Their bytes on the wire, in order: mostly in one piece. */
  readonly bytes: readonly Buffer[];
  read(): readonly { readonly name: string; readonly token: string }[];
}

/** Numbers are counts of nodes and tasks, or a text is the command: only the first clients send these. */
const isFirst = ({ number, kind }: WireField): boolean =>
  ((number === 4 || number === 5) && kind === "varint") || (number === 6 && kind === "bytes");

/** The field of clusters with their tokens; of the first clients, the name of one cluster. */
const CLUSTERS = 2;

export function decodeSubmit(bytes: Uint8Array): SubmitRequest {
  const { fields, runs } = readFieldsAndRuns(bytes, CLUSTERS);
  const name = textOf(fields, 1);
  if (fields.some(isFirst)) {
    return {
      kind: "command",
      name,
      cluster: textOf(readFields(bytes), 2),
      token: textOf(fields, 3),
      nodes: numberOf(fields, 4) ?? 0,
      tasks: numberOf(fields, 5) ?? 0,
      command: textOf(fields, 6),
    };
  }
  const algorithms = bytesOf(fields, 4).filter((value) => !isTimestamp(value));
  const options = bytesOf(fields, 5).filter((value) => !isTimestamp(value));
  // Generation C has no field above 4, and in field 4 the time. D has the time in 5.
  const isNew = algorithms.length > 0 || fields.some(({ number }) => number > 4);
  return {
    kind: "jobspec",
    name,
    clusters: toClusters(runs),
    jobspec: textOf(fields, 3),
    algorithm: toText(algorithms.at(-1) ?? Buffer.alloc(0)),
    options: Object.fromEntries(options.map(readPair)),
    satisfyOnly: (numberOf(fields, 6) ?? 0) !== 0,
    form: isNew ? "newest" : "any",
  };
}

/** A message of two texts: a cluster, or an entry of a map. */
function readPair(bytes: Buffer): readonly [string, string] {
  const fields = readFields(bytes);
  return [textOf(fields, 1), textOf(fields, 2)];
}

const toClusters = (runs: readonly Buffer[]): ClusterList => ({
  bytes: runs,
  read: () =>
    runs
      .flatMap((run) => bytesOf(readFields(run), CLUSTERS))
      .map(readPair)
      .map(([name, token]) => ({ name, token })),
});

/** A Timestamp begins with the tag of its seconds, which no text and no entry of a map does. */
const isTimestamp = (bytes: Buffer): boolean => bytes[0] === 0x08;

export interface RegisterRequest {
  readonly name: string;
  readonly secret: string;
  /** Undefined: its generation has none. Empty: it should have some. */
  readonly nodes: string | undefined;
  readonly subsystem: string;
  readonly form: AnswerForm;
}

/**
 * Until the end of February 2024 clusters were registered by name alone, with the time in field 3.
 * Clients in Python leave the time out: a request with nothing but a name and a secret is theirs.
 */
export function decodeRegister(bytes: Uint8Array): RegisterRequest {
  const fields = readFields(bytes);
  const third = bytesOf(fields, 3).at(-1);
  const fourth = bytesOf(fields, 4).at(-1);
  const isNameAlone = third === undefined ? !hasMore(fields) : isTimestamp(third);
  return {
    name: textOf(fields, 1),
    secret: textOf(fields, 2),
    nodes: isNameAlone ? undefined : toText(third ?? Buffer.alloc(0)),
    subsystem: fourth === undefined || isTimestamp(fourth) ? "" : toText(fourth),
    form: isNameAlone ? "any" : "newest",
  };
}

const hasMore = (fields: readonly WireField[]): boolean => fields.some(({ number }) => number > 3);
