import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { State } from "../../../gen/busbar/v1/busbar_pb.ts";
import { AppError, invalid } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { FakeClock } from "../../../testing/fake-clock.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { KEPT_BOUNDS } from "../../runs/ledger/kept-outputs.ts";
import { aRunRequest } from "../../testing/run-request.ts";
import { SiteRuns } from "./site-runs.ts";
import { FakeSite } from "./testing/fake-site.ts";

let directory: string;
let clock: FakeClock;
let site: FakeSite;
let opened: SiteRuns[];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "busbar-site-runs-"));
  clock = new FakeClock();
  site = new FakeSite();
  opened = [];
});
afterEach(async () => {
  for (const runs of opened) await runs.close();
  rmSync(directory, { recursive: true, force: true });
});

async function open(): Promise<SiteRuns> {
  const terms = { cluster: "a", fingerprint: "f1", group: "upstream", below: undefined };
  const how = { directory, clock, logger: silentLogger, keptBounds: KEPT_BOUNDS };
  const runs = new SiteRuns({ ...terms, ...how, api: site.api });
  opened.push(runs);
  await clock.pass(10);
  return runs;
}

const ends = (runs: SiteRuns) =>
  runs
    .known()
    .map(({ id, report }) => [id.jobId, report.kind === "ended" ? report.end.kind : report.kind]);

describe("submissions", () => {
  test("of one moment are one call; when the site rejects one it accepts the others", async () => {
    const runs = await open();
    site.refuse = (names) => (names.includes("j3") ? invalid("jobs[2].cwd", "no") : undefined);
    for (const jobId of [1, 2, 3, 4, 5]) runs.start(aRunRequest(jobId));
    await clock.pass(10);
    expect(site.submissions[0]).toEqual(["j1", "j2", "j3", "j4", "j5"]);
    expect(site.jobs.size).toBe(4);
    expect(ends(runs)).toEqual([[3, "could-not-start"]]);
  });

  test("that fail for now are repeated later with the same keys, and the log shows it", async () => {
    const runs = await open();
    site.refuse = () => new AppError("unavailable", "nobody there");
    runs.start(aRunRequest(1));
    await clock.pass(10);
    expect(runs.whyQueued()[0]?.reason).toBe("busbar: not submitted yet: nobody there");
    site.refuse = () => undefined;
    await clock.pass(limits.lowerRetryMsMax);
    expect(site.jobs.size).toBe(1);
    expect(runs.whyQueued()[0]?.reason).toBe("busbar: for you");
  });

  test("whose answers are late are reported all the same", async () => {
    const runs = await open();
    const { promise, resolve } = Promise.withResolvers<void>();
    site.answering = promise;
    runs.start(aRunRequest(1));
    await clock.pass(10);
    site.tell("100", State.SUCCEEDED);
    await clock.pass(10);
    expect(ends(runs)).toEqual([]);
    resolve();
    await clock.pass(10);
    expect(ends(runs)).toEqual([[1, "exited"]]);
  });

  test("with long specs share a file, which is removed when they are below", async () => {
    const runs = await open();
    site.refuse = () => new AppError("unavailable", "nobody there");
    const text = `#${"x".repeat(limits.siteSpecInlineBytesMax)}`;
    const index = (at: number) => ({ id: { jobId: 1, index: at, attempt: 1 } });
    for (const at of [0, 1])
      runs.start(aRunRequest(1, { work: { kind: "script", text }, ...index(at) }));
    await clock.pass(10);
    expect(readdirSync(join(directory, "specs"))).toHaveLength(1);
    await runs.close();
    site.refuse = () => undefined;
    const again = await open();
    await clock.pass(10);
    expect(again.queued()).toHaveLength(2);
    expect(site.jobs.size).toBe(2);
    expect(site.jobs.get("100")?.submission.spec?.script).toBe(text);
    expect(readdirSync(join(directory, "specs"))).toEqual([]);
  });
});

describe("after a restart of the agent", () => {
  test("learns of jobs that ended below meanwhile; jobs that are missing there have vanished", async () => {
    const first = await open();
    for (const jobId of [1, 2, 3]) first.start(aRunRequest(jobId));
    await clock.pass(10);
    await first.close();
    site.tell("100", State.SUCCEEDED);
    site.jobs.delete("102");
    const second = await open();
    expect(ends(second)).toEqual([
      [1, "exited"],
      [3, "vanished"],
    ]);
    expect(second.queued()).toMatchObject([{ jobId: 2 }]);
    expect(site.submissions).toHaveLength(1);
  });

  test("looks up a run that was stopped before its submission was answered, and does not submit it", async () => {
    const first = await open();
    site.answering = new Promise(() => undefined);
    first.start(aRunRequest(1));
    await clock.pass(10);
    first.start(aRunRequest(2));
    for (const jobId of [1, 2]) first.stop({ jobId, index: 0, attempt: 1 });
    await clock.pass(10);
    await first.close();
    expect(site.jobs.size).toBe(1);
    const second = await open();
    await clock.pass(10);
    expect(site.submissions).toHaveLength(1);
    expect(site.cancelled).toEqual(["100"]);
    expect(ends(second)).toEqual([
      [1, "stopped"],
      [2, "stopped"],
    ]);
  });
});

describe("the watch", () => {
  test("resumes from its revision, and looks up all tasks when that revision is no longer retained", async () => {
    const runs = await open();
    runs.start(aRunRequest(1));
    await clock.pass(10);
    site.tell("100", State.RUNNING); // revision 2
    await clock.pass(10);
    site.looks = 0;
    site.cut(new AppError("unavailable", "restarted"));
    await clock.pass(limits.lowerRetryMsMin);
    expect(site.watchedFrom).toEqual([undefined, 1n]);
    expect(site.looks).toBe(0);

    const job = site.jobs.get("100");
    if (job !== undefined) job.state = State.SUCCEEDED; // without an event
    site.cut(new AppError("compacted", "no longer kept"));
    await clock.pass(limits.lowerRetryMsMin);
    expect(site.watchedFrom.at(-1)).toBeUndefined();
    expect(ends(runs)).toEqual([[1, "exited"]]);
  });

  test("has no event for a job that is cancelled before it was placed: a lookup finds it", async () => {
    const runs = await open();
    runs.start(aRunRequest(1));
    await clock.pass(10);
    const job = site.jobs.get("100");
    if (job !== undefined) job.state = State.CANCELLED;
    await clock.pass(limits.siteLookMs + limits.siteFirstLookMs);
    expect(ends(runs)).toMatchObject([[1, expect.stringMatching(/could-not-start|signalled/)]]);
  });
});
