import { describe, expect, test } from "vitest";
import { checkState, digest } from "../../../testing/check/check-state.ts";
import { revision } from "../../model/ids.ts";
import type { Change } from "../change.ts";
import { createRowLoader } from "../row-loader.ts";
import { State } from "../state.ts";
import { idOf, oneRow, type Removed, type Table, Tables, type Written } from "../table.ts";
import { TABLES, type TableName } from "./tables.ts";

/** One stored row of every table, as versions in use have written it. */
const STORED: Readonly<Record<TableName, readonly [key: string, value: string]>> = {
  cluster: ["cluster/blue", '{"id":"blue","kind":"pulling","createdAtMs":5}'],
  counter: ["counter/jobs", '{"lastJobId":1}'],
  credential: [
    "credential/cluster-secret/blue",
    '{"id":{"kind":"cluster-secret","cluster":"blue"},"hash":"h","createdAtMs":1,"by":"me"}',
  ],
  declared: [
    "declared/default/mpi",
    '{"id":"default","name":"mpi","entries":[{"entry":{"name":"openmpi"}}]}',
  ],
  facts: [
    "facts/w1",
    '{"cores":4,"sockets":0,"numa":0,"memoryBytes":8589934592,"gpus":0,"others":{},' +
      '"software":{"os":[{"name":"debian"}]}}',
  ],
  graph: [
    "graph/blue",
    '{"ids":["0","1","2"],"kinds":[{"type":"cluster","size":1,"unit":""},' +
      '{"type":"node","size":1,"unit":""},{"type":"core","size":8,"unit":""}],' +
      '"kindOf":[0,1,2],"parentOf":[-1,0,1],"endOf":[3,3,3],"labels":[],"extras":[],' +
      '"extraOf":[-1,-1,-1]}',
  ],
  group: ["group/g", '{"id":"g","weight":2,"owner":"me","runningTasksMax":3}'],
  job: [
    "job/0000000001",
    '{"idempotencyKey":"k","spec":{"group":"g","labels":{"x":"y"},' +
      '"array":[{"first":0,"last":2,"step":1}],"name":"a",' +
      '"work":{"kind":"command","argv":["true"]}},"id":1,"submittedAtMs":7,"submittedBy":"me"}',
  ],
  nexus: ["nexus/Job/1", '{"labels":{"a":"b"},"annotations":{},"id":"Job/1","version":1}'],
  door: ["door/rik/tenant/1", '{"id":"rik/tenant/1","text":"{}"}'],
  leftover: ["leftover/0000000007", '{"id":7}'],
  node: [
    "node/w1",
    '{"id":"w1","cluster":"default","capacity":{"cpu":4000,"memory":8589934592},"labels":{},' +
      '"link":{"kind":"connected","session":1,"sinceMs":0},"agentKeyHash":"hash-of-w1",' +
      '"bootId":"boot-1","agentVersion":"test","registeredAtMs":0,"address":"192.0.2.7"}',
  ],
  service: [
    "service/web",
    '{"id":"web","lastGeneration":2,"replicas":2,' +
      '"terms":{"maxUnavailable":1,"minReadyMs":5000,"failuresMax":3},' +
      '"rollout":{"kind":"rolling","from":1,"sinceMs":9},"createdAtMs":7,"changedBy":"me",' +
      '"template":{"generation":2,"atMs":9,"by":"me","spec":{"labels":{"busbar.service":"web"},' +
      '"service":{"restart":"always","backoffMs":1000,"backoffMaxMs":300000,"resetAfterMs":60000},' +
      '"name":"web","work":{"kind":"command","argv":["serve","2"]}}},' +
      '"former":[{"generation":1,"atMs":7,"by":"me","spec":{"name":"web",' +
      '"work":{"kind":"command","argv":["serve","1"]}}}]}',
  ],
  slot: [
    "slot/web/web-1",
    '{"id":"web/web-1","service":"web","name":"web-1","generation":2,"jobId":1,"made":1,' +
      '"isReplaced":true,"number":1}',
  ],
  status: [
    "status/blue",
    '{"id":"blue","state":{"nodes_free":{"value":2,"setAtMs":9}},' +
      '"counters":[{"key":"nodes_free","by":"nodes"}]}',
  ],
  subsystem: [
    "subsystem/blue/io",
    '{"name":"io","vertices":[["io0","io0",{"type":"shm","size":1}]],"links":[[1,[0]]],"inner":[]}',
  ],
  task: [
    "task/0000000001/000000000",
    '{"jobId":1,"index":0,"attempt":1,"state":{"kind":"failed","nodeId":"w1","startedAtMs":1000,' +
      '"endedAtMs":1000,"failure":{"kind":"exited","exitCode":3}},"usage":[32032,null,null,null],' +
      '"failures":1,"losses":0,"past":[]}',
  ],
};

describe("every table", () => {
  for (const table of TABLES.all) {
    const [key, value] = STORED[table.name];

    test(`${table.name}: a stored row is read and written byte for byte`, () => {
      const change = TABLES.decode(key, value);
      const writes: unknown[] = [];
      TABLES.encode(change, (...write) => writes.push(write));
      expect(writes).toEqual([[key, value]]);
      expect(TABLES.of(change).keyOf(change as never)).toBe(key);
    });
  }

  test("all rows together are loaded, each is the newest, and a copy of it is not", () => {
    const rows = Object.values(STORED).toSorted(([a], [b]) => (a < b ? -1 : 1));
    const state = new State();
    const load = createRowLoader(state);
    state.startLoading();
    for (const [at, [key, value]] of rows.entries()) load(key, value, revision(at + 1));
    state.finishLoading();
    const old = rows.map(([key, value]) => TABLES.decode(key, value));
    // A mark of leftover rows replaces nothing; nothing follows the end of a task.
    const isForGood = ({ table }: Change): boolean => table === "leftover" || table === "task";
    for (const change of old) expect(state.isNewest(change)).toBe(isForGood(change));
    for (const change of old) {
      if (change.table === "task") continue;
      state.apply(change);
      expect(state.isNewest(change)).toBe(true);
    }
  });

  test("rows of no table are rejected", () => {
    expect(() => TABLES.decode("other/1", "{}")).toThrow("not ours: other/1");
    expect(() => createRowLoader(new State())("jobs/1", "{}", revision(1))).toThrow(
      "not ours: jobs/1",
    );
  });
});

interface Note {
  readonly id: string;
  readonly text: string;
}
type NoteChange = Written<"note", Note> | Removed<"note", string>;

class NoteRows {
  readonly byId = new Map<string, Note>();
  /** An index of its own. */
  chars = 0;

  put(id: string, row: Note | undefined): void {
    this.chars += (row?.text.length ?? 0) - (this.byId.get(id)?.text.length ?? 0);
    if (row === undefined) this.byId.delete(id);
    else this.byId.set(id, row);
  }
}

/** All that a new table needs, besides its line in the list. */
const noteTable: Table<NoteChange, NoteRows> = {
  name: "note",
  isWatched: false,
  ...oneRow((change) => `note/${idOf(change)}`),
  decode: (_key, value) => ({ table: "note", row: JSON.parse(value) as Note }),
  newRows: () => new NoteRows(),
  apply: (state, change) =>
    state.rows(noteTable).put(idOf(change), "removed" in change ? undefined : change.row),
  isNewest(state, change) {
    const known = state.rows(noteTable).byId.get(idOf(change));
    return known === ("removed" in change ? undefined : change.row);
  },
  check(state) {
    const { byId, chars } = state.rows(noteTable);
    const found = byId.values().reduce((sum, { text }) => sum + text.length, 0);
    return chars === found ? [] : [`notes have ${found} characters, ${chars} are counted`];
  },
  digest: (state) => Object.fromEntries(state.rows(noteTable).byId),
};

describe("a table that is added to the list", () => {
  const tables = new Tables([...TABLES.all, noteTable]);
  const newState = (): State => new State({ tables });
  const apply = (state: State, change: NoteChange): void =>
    state.apply(change as NoteChange & Change);
  const isNewest = (state: State, change: NoteChange): boolean =>
    state.isNewest(change as NoteChange & Change);

  test("is applied, stored, loaded and distinguished from older changes", () => {
    const state = newState();
    const first: NoteChange = { table: "note", row: { id: "a", text: "one" } };
    const second: NoteChange = { table: "note", row: { id: "a", text: "two" } };
    const gone: NoteChange = { table: "note", removed: "b" };
    for (const change of [first, second, gone]) apply(state, change);
    expect([first, second, gone].map((change) => isNewest(state, change))).toEqual([
      false,
      true,
      true,
    ]);
    const rows = new Map<string, string | undefined>();
    for (const change of [first, second]) {
      tables.encode(change, (key, value) => void rows.set(key, value));
    }
    expect([...rows]).toEqual([["note/a", '{"id":"a","text":"two"}']]);
    const back = newState();
    const load = createRowLoader(back);
    for (const [key, value] of rows) load(key, value ?? "", revision(2));
    expect([...back.rows(noteTable).byId]).toEqual([["a", second.row]]);
    expect(digest(back)).toEqual(digest(state));
  });

  test("is checked with all others", () => {
    const state = newState();
    apply(state, { table: "note", row: { id: "a", text: "one" } });
    expect(checkState(state)).toEqual([]);
    state.rows(noteTable).chars++;
    expect(checkState(state)).toEqual(["notes have 3 characters, 4 are counted"]);
  });

  test("is different from the existing ones", () => {
    expect(() => new Tables([...TABLES.all, { ...noteTable, name: "job" as never }])).toThrow(
      "a name of its own",
    );
  });
});
