import { crc32 } from "node:zlib";

/** The totals of the database at one revision (`Totals`). */
export interface Mark {
  readonly revision: number;
  readonly rows: number;
  readonly digest: number;
}

/**
 * The state of the database, recorded outside of it.
 *
 * Invariant: every acknowledged change has a revision of at most `durable.revision`, and the
 * database held all of them. `intended` is a commit that was under way, or `durable` again.
 */
export interface RecordState {
  readonly identity: number; // of the database that this record belongs to
  readonly sequence: number; // grows with each write
  readonly durable: Mark;
  readonly intended: Mark;
  readonly lastId: number; // the largest id that any batch up to `intended` has named
  readonly atMs: number;
  readonly boot: string; // boot id of the machine: distinguishes a killed process from a machine that stopped
  readonly schema: number; // version of the tables
  readonly firstPage: number | undefined; // checksum of the part of the first page that only a new schema changes
}

/** One sector of every disk: the disk writes it completely, or not at all. */
export const SLOT_BYTES = 512;
const FORMAT = "busbar-record-1";

/** One readable line that begins with its checksum, then zeros. */
export function encodeSlot(state: RecordState): Buffer {
  const { identity, sequence, durable, intended, lastId, atMs, boot } = state;
  const text = JSON.stringify([
    FORMAT,
    identity,
    sequence,
    [durable.revision, durable.rows, durable.digest],
    [intended.revision, intended.rows, intended.digest],
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
  const [format, identity, sequence, durable, intended, ...rest] = JSON.parse(text) as Stored;
  if (format !== FORMAT) return undefined;
  const [lastId, atMs, boot, schema, firstPage] = rest;
  return {
    identity,
    sequence,
    durable: toMark(durable),
    intended: toMark(intended),
    lastId,
    atMs,
    boot,
    schema,
    firstPage: firstPage ?? undefined,
  };
}

type Stored = readonly [
  format: string,
  identity: number,
  sequence: number,
  durable: StoredMark,
  intended: StoredMark,
  lastId: number,
  atMs: number,
  boot: string,
  schema: number,
  firstPage: number | null,
];

type StoredMark = readonly [revision: number, rows: number, digest: number];
const toMark = ([revision, rows, digest]: StoredMark): Mark => ({ revision, rows, digest });

const checksum = (text: string): string => crc32(text).toString(16).padStart(8, "0");
