import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { limits } from "../../limits.ts";
import { aNode } from "../native/testing/view-builders.ts";
import { KINDS } from "./model/kinds.ts";
import { hashName, treeLabels } from "./model/names.ts";
import { aNexusBed, EDGES, JOBS } from "./testing/nexus-bed.ts";

// Nothing here may occupy the deciding thread for long: large work runs in slices.
const COUNT = 4 * limits.nexusListMax;

let bed: Awaited<ReturnType<typeof aNexusBed>>;
beforeAll(async () => {
  bed = await aNexusBed();
});
afterAll(() => bed.close());

/** The turns of the event loop in which pages were made, until it is done. */
async function turnsOfPages(run: () => Promise<unknown>): Promise<readonly number[]> {
  let turn = 0;
  let isOver = false;
  const count = (): void => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const pages: number[] = [];
  const page = bed.reader.page.bind(bed.reader);
  const spy = vi.spyOn(bed.reader, "page").mockImplementation((...asked) => {
    pages.push(turn);
    return page(...asked);
  });
  await run().finally(() => {
    isOver = true;
    spy.mockRestore();
  });
  return pages;
}

const post = (name: string) => {
  const path = ["many", name];
  const metadata = { name: hashName(KINDS.Job, path), labels: treeLabels(KINDS.Job, path) };
  return bed.send("POST", JOBS, { metadata, spec: { powerNeeded: 5 } });
};

const heard = (): number => [...bed.reader.tree.jobs()].length;

test("a commit of many jobs is applied in slices, and an object is readable once its create is answered", async () => {
  const steps: number[] = [];
  let last = 0;
  const look = (): void => {
    steps.push(heard() - last);
    last = heard();
    if (last < COUNT) setImmediate(look);
  };
  setImmediate(look);
  const spec = { command: ["x"], name: "w", group: "many" };
  const jobs = Array.from({ length: COUNT }, () => ({ spec }));
  const submitting = bed.plane.operations.submitJobs(jobs, { allowUnsatisfiable: true });
  const { status, body } = await post("job-1");
  expect({ status, kind: body["kind"] }).toEqual({ status: 201, kind: "Job" });
  expect((await bed.get(`${JOBS}/${hashName(KINDS.Job, ["many", "job-1"])}`)).status).toBe(200);
  await submitting;
  expect(heard()).toBe(COUNT + 1);
  // One turn may publish a commit and one slice of its events.
  expect(Math.max(...steps)).toBeLessThanOrEqual(2 * limits.followedEventsPerSliceMax);
});

describe("of many edges", () => {
  const POWER = { watts: 20, changes: [], needsNoCommand: true, shares: 0, sharesMax: 1 };
  beforeAll(() => {
    for (let at = 0; at < COUNT; at++) {
      bed.reader.tree.putNode(aNode({ name: `e${at}`, cluster: "north", power: POWER }), 0);
    }
  });

  test("a list is made page by page", async () => {
    let count = 0;
    const turns = await turnsOfPages(async () => {
      count = ((await bed.get(EDGES)).body["items"] as unknown[]).length;
    });
    expect(count).toBe(COUNT);
    expect(turns).toHaveLength(COUNT / limits.nexusListMax);
    expect(new Set(turns).size).toBe(turns.length);
  });

  test("a watch from the start begins with all of them, page by page", async () => {
    const turns = await turnsOfPages(async () => {
      await bed.tells(await bed.watch(`${EDGES}?watch=true`), COUNT);
    });
    expect(turns).toHaveLength(COUNT / limits.nexusListMax);
    expect(new Set(turns).size).toBe(turns.length);
  });
});

test("a watch from the start begins with all jobs, and continues", async () => {
  const seen = await bed.watch(`${JOBS}?watch=true`);
  await bed.tells(seen, COUNT + 1);
  await post("job-2");
  await bed.tells(seen, COUNT + 2);
  const names = seen.lines.map(({ object }) => object.metadata.name);
  expect(new Set(names).size).toBe(COUNT + 2);
  expect(names.at(COUNT + 1)).toBe(hashName(KINDS.Job, ["many", "job-2"]));
});
