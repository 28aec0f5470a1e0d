import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, test } from "vitest";
import { ENTRY_PAGE_BYTES } from "../../src/store/sqlite/record/journal-entry.ts";
import { JOURNAL_AT } from "../../src/store/sqlite/record/record-file.ts";
import { isAlive } from "../../src/testing/is-alive.ts";
import { type Running, Site } from "../support/busbar.ts";
import { eventually } from "../../src/testing/eventually.ts";

let site: Site;
afterEach(() => site.close());

const CALLS = 60;

/** A start that must fail. */
const startRefused = (): Running => {
  const ports = ["--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"];
  return site.start(["server", "--data", site.path("data"), ...ports]);
};

function flip(name: string, offsetOf: (length: number) => number): void {
  const file = join(site.path("data"), name);
  const bytes = readFileSync(file);
  const at = offsetOf(bytes.length);
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  writeFileSync(file, bytes);
}

const flipInLog = (): void => flip("busbar.db-wal", (length) => Math.floor(length / 2));

/** In an early commit of the journal: those behind it cannot be used. */
const flipInJournal = (): void =>
  flip("busbar.record", () => JOURNAL_AT + 5 * ENTRY_PAGE_BYTES + 60);

/** One call after the other, so that each is a separate commit. */
async function submitJobs(command: readonly string[], perCall = 1): Promise<number[]> {
  const ids: number[] = [];
  for (let count = 0; count < CALLS; count += 1) {
    const jobs = Array.from({ length: perCall }, () => ({ spec: { command: [...command] } }));
    const submitted = await site.client.submitJobs({ jobs });
    for (const { id } of submitted.jobs) ids.push(Number(id));
  }
  return ids;
}

test("a missing job row whose tasks exist: refused as damaged, with what to do", async () => {
  site = new Site();
  const server = await site.startServer();
  await site.startAgent("a1", "--cpu", "2");
  const { jobs } = await site.client.submitJobs({ jobs: [{ spec: { command: ["true"] } }] });
  await site.jobIs(jobs[0]?.id ?? "", "succeeded");
  await server.end("SIGTERM"); // which puts every row into the database
  const db = new DatabaseSync(join(site.path("data"), "busbar.db"));
  const { changes } = db.prepare("DELETE FROM rows WHERE key LIKE 'job/%'").run();
  expect(changes).toBe(1);
  db.close();
  const again = startRefused();
  expect(await again.end()).toBe(1);
  expect(again.output).toMatch(/busbar\.db is damaged: .*restore a backup .*busbar recover --data/);
});

test("a flipped bit in the log after kill -9: the journal has the commits, and nothing is lost", async () => {
  site = new Site();
  const server = await site.startServer();
  const logBytes = (): number => statSync(join(site.path("data"), "busbar.db-wal")).size;
  const before = logBytes();
  const ids = await submitJobs(["true"], 5); // many enough to be written to the database
  await eventually(() => logBytes() > before, { what: "rows in the log" });
  await server.end("SIGKILL");
  flipInLog();
  const again = await site.startServer();
  await again.prints(/busbar\.db-wal\) was damaged and lacked revisions \d+ to \d+/);
  for (const id of ids) expect((await site.client.getJob({ id: String(id) })).id).toBe(String(id));
});

test("flipped bits in log and journal after kill -9: refused; after acceptance no id is issued twice", async () => {
  site = new Site();
  const server = await site.startServer();
  const ids = await submitJobs(["true"]);
  const { revision } = await site.json<{ revision: number }>("stats");
  await server.end("SIGKILL");
  flipInLog();
  flipInJournal();
  const again = startRefused();
  expect(await again.end()).toBe(1);
  expect(again.output).toMatch(/lack revisions \d+ to \d+, the last.*busbar recover --data/);

  const shown = await site.run("recover", "--data", site.path("data"));
  expect(shown.code).toBe(1);
  expect(shown.stdout).toMatch(new RegExp(`Lost: +jobs \\d+ to ${ids.at(-1)} `));
  const accepted = await site.run("recover", "--data", site.path("data"), "--accept-loss");
  expect(accepted.code).toBe(0);

  await site.startServer();
  const [next] = await submitJobs(["true"]);
  expect(next).toBe(Number(ids.at(-1)) + 1);
  const now = await site.json<{ revision: number }>("stats");
  expect(now.revision).toBeGreaterThan(revision);
  const watch = site.client.watch({ afterRevision: BigInt(revision) });
  await expect(watch[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "compacted" });
});

test("runs of lost jobs are stopped when their agent comes back", async () => {
  site = new Site();
  const server = await site.startServer();
  await site.startAgent("a1", "--cpu", "100");
  const pids = site.path("pids");
  const ids = await submitJobs(["sh", "-c", `echo $BUSBAR_JOB_ID $$ >>${pids}; exec sleep 600`]);
  const last = String(ids.at(-1));
  const pidOf = (id: string): number =>
    Number(
      site
        .lines("pids")
        .find((line) => line.startsWith(`${id} `))
        ?.split(" ")[1] ?? 0,
    );
  await eventually(() => pidOf(last) > 0, { what: "the last job to run", timeoutMs: 60_000 });
  await server.end("SIGKILL");
  flipInLog();
  flipInJournal();
  expect((await site.run("recover", "--data", site.path("data"), "--accept-loss")).code).toBe(0);
  const later = await site.startServer();
  await later.prints(/the agent stops runs of jobs that this server does not have/);
  await expect(site.client.getJob({ id: last })).rejects.toMatchObject({ code: "not_found" });
  const isGone = (): boolean => !isAlive(pidOf(last));
  await eventually(isGone, { what: `the process of job ${last} to end`, timeoutMs: 60_000 });
}, 180_000);
