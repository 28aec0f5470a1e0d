import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { jobId, revision } from "../../core/model/ids.ts";
import { aCommit, aHub, aJob, aReader, jobs, watch } from "../testing/watch-hub.ts";

/** Commits whose jobs have consecutive numbers. */
function history(sizes: readonly number[]) {
  const { hub, settle } = aHub(0, (id) => aJob(id, id % 2 === 0 ? "even" : "odd"));
  let last = 0;
  let id = 0;
  for (const size of sizes) {
    const own = Array.from({ length: size }, () => aJob(++id, id % 2 === 0 ? "even" : "odd"));
    hub.publish(aCommit((last += size), own, true));
  }
  return { hub, settle, last };
}

const sizes = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 6 });
const query = fc.constantFrom({}, { group: "even" }, { group: "odd" }, { jobId: "7" });

test("a watch that is cut after any event resumes exactly after it", () => {
  fc.assert(
    fc.property(sizes, query, fc.nat(), fc.boolean(), (all, asked, pick, isPacked) => {
      const { hub, settle, last } = history(all);
      const whole = watch(hub, { ...asked, afterRevision: 0 });
      settle();
      const at = whole.revisions()[pick % whole.events.length] ?? 0;
      const rest = watch(hub, { ...asked, afterRevision: at }, aReader(true, isPacked));
      settle();
      const later = whole.events.filter((event) => event.revision > at);
      expect(rest.events.slice(1)).toEqual(later);
      hub.publish(aCommit(last + 7, jobs(7), true));
      settle();
      expect(rest.revisions().slice(1 + later.length)).toEqual(
        whole.revisions().filter((one) => one > last),
      );
    }),
  );
});

test("every event has its own revision, and revisions rise", () => {
  const { hub, settle, last } = history([3, 200, 5]);
  const { revisions } = watch(hub, { afterRevision: 0 });
  settle();
  expect(revisions()).toEqual(Array.from({ length: last + 1 }, (_, at) => at));
});

describe("a watch of one job", () => {
  const compacted = () => {
    const world = aHub(10);
    world.hub.publish(aCommit(11));
    return world;
  };

  test("begins at the job's revision, although earlier events are no longer retained", () => {
    const { hub, settle } = compacted(); // job 1 has revision 1
    const old = watch(hub, { jobId: "1", afterRevision: 1 });
    settle();
    expect(old.revisions()).toEqual([1, 11]);
    expect(() => watch(hub, { afterRevision: 1 })).toThrow(/expired/);
    expect(() => watch(hub, { jobId: "1", afterRevision: 0 })).toThrow(/expired/);
  });

  test("is rejected when the job was removed", () => {
    const { hub } = aHub(10, (id) => (id === jobId(1) ? undefined : aJob(id)));
    hub.publish(aCommit(11));
    expect(() => watch(hub, { jobId: "1", afterRevision: 5 })).toThrow(/expired/);
  });
});

test("of one row in one commit only the last change, or its removal, is shown", () => {
  const { hub, settle } = aHub();
  const group = (weight: number) => ({
    table: "group" as const,
    row: {
      id: "g" as never,
      weight,
      owner: "",
      runningTasksMax: undefined,
      queuedTasksMax: undefined,
    },
  });
  const reader = watch(hub);
  hub.publish({
    ...aCommit(4, []),
    before: revision(0),
    changes: [group(1), { table: "group", removed: "g" as never }, group(2), group(3)],
    revisions: [1, 2, 3, 4].map(revision),
    hasReplaced: true,
  });
  settle();
  expect(reader.events).toMatchObject([
    { kind: "sync", revision: 0 },
    { kind: "removed", what: "group", id: "g", revision: 2 },
    { kind: "group", group: { weight: 3, revision: 4 }, revision: 4 },
  ]);
});
