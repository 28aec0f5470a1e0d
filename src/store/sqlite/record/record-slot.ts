import { crc32 } from "node:zlib";

/** The totals of the database at one revision (`Totals`). */
export interface Mark {
  readonly revision: number;
  readonly rows: number;
  readonly digest: number;
}

/** Where the present pass over the journal begins. */
export interface Pass {
  /** Drawn for each pass: bytes that an earlier pass left are never taken for an entry, whatever clients made them contain. */
  readonly number: number;
  /** The database itself is durable up to this revision, and its file has nothing newer: entries continue from here. */
  readonly from: number;
}

/**
 * The state of the store, recorded outside of the database.
 *
 * Invariants: every acknowledged change has a revision of at most `intended`. Every change up to `durable` was flushed,
 * in the database or in the journal. Entries up to `intended` were written before this slot.
 */
export interface RecordState {
  readonly identity: number; // of the database that this record belongs to
  readonly sequence: number; // grows with each write
  readonly durable: number;
  readonly intended: number;
  readonly marks: readonly Mark[]; // the totals that the database has at these revisions
  readonly pass: Pass | undefined; // undefined: of a version without a journal
  readonly lastId: number; // the largest id that any batch up to `intended` has named
  readonly atMs: number;
  readonly boot: string; // boot id of the machine: distinguishes a killed process from a machine that stopped
  readonly schema: number; // version of the tables
  readonly firstPage: number | undefined; // checksum of the part of the first page that only a new schema changes
}

/** One sector of every disk: the disk writes it completely, or not at all. */
export const SLOT_BYTES = 512;
const FORMAT = "busbar-record-2";
/** Without a journal: two marks, of the last commit and of the one under way. */
const FORMAT_1 = "busbar-record-1";

/** One readable line that begins with its checksum, then zeros. */
export function encodeSlot(state: RecordState): Buffer {
  const { identity, sequence, durable, intended, lastId, atMs, boot, pass } = state;
  const text = JSON.stringify([
    FORMAT,
    identity,
    sequence,
    durable,
    intended,
    state.marks.map(({ revision, rows, digest }) => [revision, rows, digest]),
    pass === undefined ? null : [pass.number, pass.from],
    lastId,
    atMs,
    boot,
    state.schema,
    state.firstPage ?? null,
  ]);
  const slot = Buffer.alloc(SLOT_BYTES);
  slot.write(`${checksum(text)} ${text}\n`, "latin1");
  return slot;
}

/** Undefined when the slot is damaged; "empty" when it was never written. */
export function decodeSlot(slot: Uint8Array): RecordState | "empty" | undefined {
  if (slot.every((byte) => byte === 0)) return "empty";
  const line = Buffer.from(slot).toString("latin1");
  const match = /^([0-9a-f]{8}) (\[.*\])\n\0*$/s.exec(line);
  const text = match?.[2];
  if (text === undefined || checksum(text) !== match?.[1]) return undefined;
  const stored = JSON.parse(text) as Stored | Stored1 | readonly [format: ""];
  if (stored[0] === FORMAT) return fromStored(stored);
  return stored[0] === FORMAT_1 ? fromStored1(stored) : undefined;
}

function fromStored(stored: Stored): RecordState {
  const [, identity, sequence, durable, intended, marks, pass, ...rest] = stored;
  const beginning = pass === null ? undefined : { number: pass[0], from: pass[1] };
  return {
    identity,
    sequence,
    durable,
    intended,
    marks: marks.map(toMark),
    pass: beginning,
    ...fromRest(rest),
  };
}

function fromStored1([, identity, sequence, durable, intended, ...rest]: Stored1): RecordState {
  return {
    identity,
    sequence,
    durable: durable[0],
    intended: intended[0],
    marks: [toMark(durable), toMark(intended)],
    pass: undefined,
    ...fromRest(rest),
  };
}

type Rest = readonly [
  lastId: number,
  atMs: number,
  boot: string,
  schema: number,
  firstPage: number | null,
];
type StoredMark = readonly [revision: number, rows: number, digest: number];
type Stored = readonly [
  format: typeof FORMAT,
  identity: number,
  sequence: number,
  durable: number,
  intended: number,
  marks: readonly StoredMark[],
  pass: readonly [number: number, from: number] | null,
  ...rest: Rest,
];
type Stored1 = readonly [
  format: typeof FORMAT_1,
  identity: number,
  sequence: number,
  durable: StoredMark,
  intended: StoredMark,
  ...rest: Rest,
];

const toMark = ([revision, rows, digest]: StoredMark): Mark => ({ revision, rows, digest });
const fromRest = ([lastId, atMs, boot, schema, firstPage]: Rest) => ({
  lastId,
  atMs,
  boot,
  schema,
  firstPage: firstPage ?? undefined,
});

const checksum = (text: string): string => crc32(text).toString(16).padStart(8, "0");
