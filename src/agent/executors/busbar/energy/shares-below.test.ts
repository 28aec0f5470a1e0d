import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { State } from "../../../../gen/busbar/v1/busbar_pb.ts";
import { AppError } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import type { Executor, RunRequest } from "../../../../ports/executor.ts";
import { FakeClock } from "../../../../testing/fake-clock.ts";
import { silentLogger } from "../../../../testing/silent-logger.ts";
import { KEPT_BOUNDS } from "../../../runs/ledger/kept-outputs.ts";
import { aRunRequest } from "../../../testing/run-request.ts";
import { SiteRuns } from "../site-runs.ts";
import { FakeSite } from "../testing/fake-site.ts";
import { partOfRuns } from "./part-of-runs.ts";

let directory: string;
let clock: FakeClock;
let site: FakeSite;
let opened: SiteRuns[];
let told: string[];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "busbar-shares-below-"));
  [clock, site, opened, told] = [new FakeClock(), new FakeSite(), [], []];
});
afterEach(async () => {
  for (const runs of opened) await runs.close();
  rmSync(directory, { recursive: true, force: true });
});

async function open(): Promise<{ runs: SiteRuns; shares: Executor; tasks: Executor }> {
  const terms = { cluster: "a", fingerprint: "f1", group: "upstream", below: undefined };
  const how = { directory, clock, logger: silentLogger, keptBounds: KEPT_BOUNDS };
  const runs = new SiteRuns({ ...terms, ...how, api: site.api });
  opened.push(runs);
  const part = (which: "shares" | "tasks"): Executor => {
    const executor = partOfRuns(runs, which, async () => undefined);
    executor.onReport(({ jobId }, report) => {
      const how = report.kind === "ended" ? report.end.kind : report.kind;
      const at = report.kind === "ended" ? ` at ${report.progress?.percent} %` : "";
      told.push(`${which}: ${jobId} ${how}${at}`);
    });
    executor.onProgress?.(({ jobId }, { percent }) => told.push(`${which}: ${jobId} ${percent} %`));
    return executor;
  };
  const [shares, tasks] = [part("shares"), part("tasks")];
  await clock.pass(10);
  return { runs, shares, tasks };
}

const aRun = (jobId: number, share?: number): RunRequest =>
  aRunRequest(jobId, share === undefined ? {} : { shareWattSeconds: share });

const look = (): Promise<void> => clock.pass(2 * limits.siteShareLookMs);

test("a share is a job with its energy, which reports its progress and end", async () => {
  const { runs, shares } = await open();
  shares.start(aRun(1, 400));
  expect(runs.shares()).toEqual({ active: 1, waiting: 1 });
  await clock.pass(10);
  expect(site.jobs.get("100")?.submission.spec?.energy?.wattSeconds).toBe(400n);
  site.used("100", 0);
  await look();
  expect(runs.shares()).toEqual({ active: 1, waiting: 0 });
  site.used("100", 100);
  site.used("100", 130);
  await look();
  site.used("100", 400, State.SUCCEEDED);
  await look();
  const all = ["running", "0 %", "32.5 %", "exited at 100 %"].map((what) => `shares: 1 ${what}`);
  expect(told).toEqual(all);
  expect(runs.shares()).toEqual({ active: 0, waiting: 0 });
});

test("however many events its shares below have, a job is looked at only a few times a second", async () => {
  const { shares } = await open();
  shares.start(aRun(1, 400));
  await look();
  const before = site.looks;
  for (let at = 0; at < 100; at++) {
    site.used("100", at);
    await clock.pass(10);
  }
  expect(site.looks - before).toBeLessThanOrEqual(1_000 / limits.siteShareLookMs + 1);
});

test("two agents each have their part of the runs of a site, also after a restart", async () => {
  const { shares, tasks, runs } = await open();
  shares.start(aRun(1, 400));
  tasks.start(aRun(2));
  await clock.pass(10);
  expect([shares.queued(), tasks.queued()]).toMatchObject([[{ jobId: 1 }], [{ jobId: 2 }]]);
  await clock.pass(limits.siteFirstLookMs);
  expect(
    [shares, tasks].map((part) => part.whyQueued?.().flatMap((one) => one.runs)),
  ).toMatchObject([[{ jobId: 1 }], [{ jobId: 2 }]]);
  await runs.close();

  // While no agent ran, one ended and the other progressed.
  site.used("100", 200);
  site.tell("101", State.SUCCEEDED);
  told = [];
  const again = await open();
  await look();
  expect(told.sort()).toEqual([
    "shares: 1 50 %",
    "shares: 1 running",
    "tasks: 2 exited at undefined %",
  ]);
  expect(again.shares.known()).toMatchObject([{ id: { jobId: 1 }, report: { kind: "running" } }]);
  expect(again.tasks.known()).toMatchObject([{ id: { jobId: 2 }, report: { kind: "ended" } }]);
  expect(site.submissions).toHaveLength(1);
});

test("after a missed answer the agent submits with the same key: no energy is submitted below twice", async () => {
  const { runs, shares } = await open();
  site.answering = new Promise(() => undefined);
  shares.start(aRun(1, 400));
  await clock.pass(10);
  await runs.close(); // the job is below, and the agent has no answer
  site.answering = Promise.resolve();
  await open();
  await clock.pass(10);
  expect(site.submissions).toHaveLength(2);
  expect(site.jobs.size).toBe(1);
});

test("a stopped share is cancelled below, and reports its progress", async () => {
  const { shares } = await open();
  shares.start(aRun(1, 400));
  await look();
  site.used("100", 60);
  await look();
  shares.stop({ jobId: 1, index: 0, attempt: 1 });
  await look();
  expect(site.cancelled).toEqual(["100"]);
  expect(told.at(-1)).toBe("shares: 1 stopped at 15 %");
});

test("a share that the site has no record of has vanished: its reported energy counts", async () => {
  const { shares } = await open();
  shares.start(aRun(1, 400));
  await look();
  site.used("100", 60);
  await look();
  site.jobs.clear();
  site.cut(new AppError("compacted", "another store"));
  await clock.pass(5_000);
  expect(told.at(-1)).toContain("shares: 1 vanished");
});
