import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename, dirname, join } from "node:path";

const BOOT = "/proc/sys/kernel/random/boot_id";
const RECORD = "busbar.record";
const LOG = "busbar.db-wal";
const DATABASE = "busbar.db";
const SECTOR = 512;
const PAGE = 4096;

interface Write {
  readonly at: number;
  readonly bytes: Buffer;
}

interface Tracked {
  flushed: Buffer;
  written: Buffer; // as a killed process leaves it
  unflushed: Write[];
}

/** The files of a data directory; undefined: missing. */
export type Image = Readonly<Record<string, Buffer | undefined>>;

/**
 * Follows what a store has written to its files, and what of it was flushed. Replaces functions of node:fs while it is on. SQLite writes its
 * files itself: `look` finds what has changed. A change of the database's own file is a checkpoint, before which the log was flushed.
 */
export class TrackedFiles {
  readonly #real = { ...fs };
  readonly #names = new Map<number, string>(); // of descriptors
  readonly #through = new Set<number>(); // descriptors whose writes are flushed
  readonly #onEvent: (images: Iterable<Image>) => void;
  readonly #record = empty();
  readonly #log = empty();
  readonly #database = empty();
  #directory: string;
  #isAfterReboot = false; // then writes are no events

  constructor(directory: string, onEvent: (images: Iterable<Image>) => void) {
    this.#directory = directory;
    this.#onEvent = onEvent;
  }

  /** The machine was started again: as seen by all that is opened within `work`. */
  afterReboot<T>(work: () => T): T {
    this.#isAfterReboot = true;
    try {
      return work();
    } finally {
      this.#isAfterReboot = false;
    }
  }

  on(): void {
    const real = this.#real;
    const hooks = {
      openSync: (path: string, ...rest: [string | number]) => {
        const file = real.openSync(path, ...rest);
        if (dirname(path) === this.#directory) this.#names.set(file, basename(path));
        const [flags] = rest;
        if (typeof flags === "number" && (flags & fs.constants.O_DSYNC) !== 0)
          this.#through.add(file);
        return file;
      },
      closeSync: (file: number) => {
        this.#names.delete(file);
        this.#through.delete(file);
        real.closeSync(file);
      },
      readFileSync: (path: string, ...rest: ["latin1"]) =>
        path === BOOT && this.#isAfterReboot ? "another boot" : real.readFileSync(path, ...rest),
      writeSync: (file: number, bytes: Buffer, from: number, length: number, at: number) => {
        const written = real.writeSync(file, bytes, from, length, at);
        if (this.#names.get(file) === RECORD) this.#wrote(at, bytes);
        return written;
      },
      write: (
        file: number,
        bytes: Buffer,
        from: number,
        length: number,
        at: number,
        done: (error: Error | null, written: number) => void,
      ) => {
        const written = real.writeSync(file, bytes, from, length, at);
        this.#wrote(at, bytes.subarray(from, from + length));
        if (this.#through.has(file)) this.#flushLast();
        done(null, written);
      },
      fdatasyncSync: (file: number) => this.#flush(file, real.fdatasyncSync),
      fsyncSync: (file: number) => this.#flush(file, real.fsyncSync),
      renameSync: (from: string, to: string) => {
        real.renameSync(from, to);
        if (to === join(this.#directory, RECORD)) setAll(this.#record, real.readFileSync(to));
      },
    };
    Object.assign(fs, hooks);
    syncBuiltinESMExports();
  }

  off(): void {
    const { openSync, closeSync, readFileSync, writeSync, write } = this.#real;
    const { fdatasyncSync, fsyncSync, renameSync } = this.#real;
    Object.assign(fs, { openSync, closeSync, readFileSync, writeSync, write });
    Object.assign(fs, { fdatasyncSync, fsyncSync, renameSync });
    syncBuiltinESMExports();
  }

  /** Kills the process: another directory has all that was written, and only the flushed part is certain as before. */
  moveTo(directory: string): void {
    this.look();
    this.#real.mkdirSync(directory);
    const files = { [RECORD]: this.#record, [LOG]: this.#log, [DATABASE]: this.#database };
    for (const [name, file] of Object.entries(files)) {
      this.#real.writeFileSync(join(directory, name), file.written);
    }
    this.#directory = directory;
    this.#names.clear();
  }

  /** Reads what SQLite has written. */
  look(): void {
    if (this.#isAfterReboot) return;
    const read = (name: string): Buffer =>
      this.#real.existsSync(join(this.#directory, name))
        ? this.#real.readFileSync(join(this.#directory, name))
        : Buffer.alloc(0);
    const database = read(DATABASE);
    if (!database.equals(this.#database.written)) {
      const isFirst = this.#database.written.length === 0;
      setAll(this.#log, this.#log.written);
      addChanges(this.#database, database);
      if (!isFirst) this.#event();
      setAll(this.#database, database);
    }
    const log = read(LOG);
    if (!isSameHeader(log, this.#log.written)) setHeader(this.#log, log);
    addChanges(this.#log, log);
    this.#event();
  }

  #wrote(at: number, bytes: Buffer): void {
    if (this.#isAfterReboot) return;
    this.look();
    this.#record.unflushed.push({ at, bytes: Buffer.from(bytes) });
    this.#record.written = put(this.#record.written, [{ at, bytes }]);
    this.#event();
  }

  /** The last write to the record, and no other one. */
  #flushLast(): void {
    const last = this.#isAfterReboot ? undefined : this.#record.unflushed.pop();
    if (last === undefined) return;
    this.#record.flushed = put(this.#record.flushed, [last]);
    this.#event();
  }

  #flush(file: number, flush: (file: number) => void): void {
    flush(file);
    const name = this.#names.get(file);
    if (this.#isAfterReboot || name === undefined) return;
    this.look();
    if (name === RECORD) setAll(this.#record, this.#record.written);
    if (name === LOG) setAll(this.#log, this.#log.written);
    this.#event();
  }

  #event(): void {
    if (this.#record.flushed.length > 0) this.#onEvent(this.#images());
  }

  /** Every combination of what a machine that stops now may leave: of each file none, any, parts or all of the writes. */
  *#images(): Generator<Image> {
    for (const record of choices(this.#record)) {
      for (const log of choices(this.#log)) {
        for (const database of choices(this.#database)) {
          yield { [RECORD]: record, [LOG]: log, [DATABASE]: database };
        }
      }
    }
  }
}

const empty = (): Tracked => ({
  flushed: Buffer.alloc(0),
  written: Buffer.alloc(0),
  unflushed: [],
});

function setAll(file: Tracked, bytes: Buffer): void {
  file.flushed = bytes;
  file.written = bytes;
  file.unflushed = [];
}

const HEADER_BYTES = 32;
const isSameHeader = (one: Buffer, other: Buffer): boolean =>
  one.subarray(0, HEADER_BYTES).equals(other.subarray(0, HEADER_BYTES));

/** SQLite begins the log from the front: it flushes the new header before it writes anything behind it. */
function setHeader(file: Tracked, now: Buffer): void {
  const header = { at: 0, bytes: now.subarray(0, HEADER_BYTES) };
  setAll(file, put(file.written, [header]));
}

function addChanges(file: Tracked, now: Buffer): void {
  for (let at = 0; at < now.length; at += PAGE) {
    const bytes = now.subarray(at, at + PAGE);
    if (!bytes.equals(file.written.subarray(at, at + PAGE))) file.unflushed.push({ at, bytes });
  }
  file.written = now;
}

function put(image: Buffer, writes: readonly Write[]): Buffer {
  const length = Math.max(image.length, ...writes.map(({ at, bytes }) => at + bytes.length));
  const result = Buffer.concat([image, Buffer.alloc(length - image.length)]);
  for (const { at, bytes } of writes) bytes.copy(result, at);
  return result;
}

/** All subsets of few writes; of many none, all, the first half, the second half, and every other one. Then parts of the last one. */
function choices({ flushed, unflushed }: Tracked): Buffer[] {
  const subsets = unflushed.length <= 2 ? allSubsets(unflushed) : someSubsets(unflushed);
  const images = subsets.map((writes) => put(flushed, writes));
  const last = unflushed.at(-1);
  if (last !== undefined && last.bytes.length > SECTOR) {
    const before = unflushed.slice(0, -1);
    const end = last.bytes.subarray(SECTOR);
    images.push(put(flushed, [...before, { at: last.at, bytes: last.bytes.subarray(0, SECTOR) }]));
    images.push(put(flushed, [...before, { at: last.at + SECTOR, bytes: end }]));
  }
  return images;
}

const allSubsets = (writes: readonly Write[]): Write[][] =>
  writes.reduce<Write[][]>(
    (subsets, write) => [...subsets, ...subsets.map((subset) => [...subset, write])],
    [[]],
  );

function someSubsets(writes: readonly Write[]): Write[][] {
  const half = Math.floor(writes.length / 2);
  const odd = writes.filter((_, index) => index % 2 === 1);
  return [[], [...writes], writes.slice(0, half), writes.slice(half), odd];
}
