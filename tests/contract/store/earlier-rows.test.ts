import { expect, test } from "vitest";
import { aPlane } from "../../../src/testing/plane.ts";
import { openSqlite, withDirectory } from "./sqlite-support.ts";

// Rows as version 0.1.0 stored them, when all changes of a commit shared its revision: these never change.
const JOB =
  '{"spec":{"name":"a","work":{"kind":"command","argv":["x"]}},"id":1,"submittedAtMs":5,"submittedBy":"me"}';
const TASK =
  '{"jobId":1,"index":0,"attempt":1,"state":{"kind":"succeeded","nodeId":"w1","startedAtMs":6,"endedAtMs":9}}';
const GROUP = '{"id":"g","weight":2,"owner":""}';

test("a data directory of the previous version opens, and continues beyond its issued revisions", () =>
  withDirectory(async (directory) => {
    const before = await openSqlite(directory);
    await before.commit({
      revision: 5,
      writes: [
        { key: "job/0000000001", value: JOB },
        { key: "counter/jobs", value: '{"lastJobId":1}' },
        { key: "group/g", value: GROUP },
      ],
      lastId: 1,
    });
    await before.commit({ revision: 7, writes: [{ key: "task/0000000001/0", value: TASK }] });
    await before.close();

    const store = await openSqlite(directory);
    const { plane } = await aPlane({ store });
    try {
      const { operations } = plane;
      // The job is one beyond its task, which has the last revision.
      const { jobs, revision } = await operations.listJobs({}, {});
      expect(jobs).toMatchObject([{ id: "1", state: "succeeded", revision: 8 }]);
      expect(revision).toBeGreaterThanOrEqual(8);
      expect(await operations.getTask("1")).toMatchObject({ revision: 7 });
      expect((await operations.listGroups()).groups).toContainEqual(
        expect.objectContaining({ name: "g", revision: 5 }),
      );
      const put = await operations.putGroup({ name: "g", weight: 3, ifRevision: 5 });
      expect(put.revision).toBeGreaterThan(revision);
      await expect(
        operations.putGroup({ name: "g", weight: 4, ifRevision: 5 }),
      ).rejects.toMatchObject({ code: "conflict", revision: put.revision });
    } finally {
      await plane.close();
      await store.close();
    }
  }));
