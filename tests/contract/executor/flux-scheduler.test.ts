import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { createFluxCommand } from "../../../src/agent/executors/flux/flux-command.ts";
import { createFluxScheduler } from "../../../src/agent/executors/flux/flux-scheduler.ts";
import type {
  LowerIds,
  LowerJob,
  LowerScheduler,
  LowerState,
} from "../../../src/agent/lower/scheduler.ts";
import { INDEX } from "../../../src/agent/lower/scheduler.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import type { FluxBed, FluxInstance, StandIn } from "./flux-bed.ts";
import { isFluxHere, makeStandIn, startFlux } from "./flux-bed.ts";

const ONE = {
  nodes: undefined,
  processes: 1,
  coresPerProcess: 1,
  gpusPerProcess: 0,
  memoryBytesPerProcess: 0,
  isExclusive: false,
};

let count = 0;
function jobIn(directory: string, script: string, over: Partial<LowerJob> = {}): LowerJob {
  count += 1;
  const own = join(directory, `it's ${count}`);
  mkdirSync(own);
  return {
    marker: `busbar:test:${count}.0.1`,
    name: `job {x} ${count}\nof a test`,
    script: `#!/bin/sh\n${script}\n`,
    directory: own,
    timeLimitMs: undefined,
    killGraceMs: 5_000,
    shape: ONE,
    launch: "each-process",
    indexes: undefined,
    after: [],
    stdout: join(own, "out"),
    stderr: join(own, "err"),
    ...over,
  };
}

async function submitOne(scheduler: LowerScheduler, job: LowerJob): Promise<LowerIds> {
  const [answer] = await scheduler.submitAll([job]);
  if (answer?.kind === "taken") return answer.ids;
  throw answer?.error ?? new Error("no answer");
}

type Ended = Extract<LowerState, { kind: "ended" }>;
const endOf = (scheduler: LowerScheduler, id: string): Promise<Ended> =>
  eventually(
    async () => {
      const state = (await scheduler.poll([id])).get(id);
      return state?.kind === "ended" ? state : undefined;
    },
    { what: `the end of ${id}` },
  );

/** The behaviour of any Flux. */
function describeScheduler(name: string, open: () => FluxBed, isHere = true): void {
  describe.runIf(isHere)(name, () => {
    let bed: FluxBed;
    let scheduler: LowerScheduler;
    const submit = async (script: string, over: Partial<LowerJob> = {}) => {
      const job = jobIn(bed.directory, script, over);
      return { job, ids: await submitOne(scheduler, job) };
    };
    const only = async (script: string, over: Partial<LowerJob> = {}) => {
      const { job, ids } = await submit(script, over);
      return { job, id: ids[0] ?? "" };
    };
    afterEach(() => bed.dispose());
    beforeEach(() => {
      bed = open();
      scheduler = createFluxScheduler(createFluxCommand({ env: bed.env }));
    });

    test("a job runs in its directory, and its exit code and output are known", async () => {
      const { job, id } = await only("pwd; echo bad >&2; exit 3");
      const { end, startedAtMs, endedAtMs } = await endOf(scheduler, id);
      expect(end).toEqual({ kind: "exited", exitCode: 3 });
      expect(endedAtMs).toBeGreaterThanOrEqual(startedAtMs ?? Number.POSITIVE_INFINITY);
      expect(readFileSync(job.stdout, "utf8")).toBe(`${job.directory}\n`);
      expect(readFileSync(job.stderr, "utf8")).toBe("bad\n");
    });

    test("a job knows its own id, alone and in an instance", async () => {
      for (const launch of ["each-process", "once"] as const) {
        const { job, id } = await only(`echo "${scheduler.inside.id}"`, { launch });
        expect((await endOf(scheduler, id)).end).toEqual({ kind: "exited", exitCode: 0 });
        expect(readFileSync(job.stdout, "utf8")).toBe(`${id}\n`);
      }
    });

    test("several processes are started by the script", async () => {
      const shape = { ...ONE, processes: 2 };
      const command = scheduler.launcher(shape).join(" ");
      const { job, id } = await only(`echo one; ${command} echo each`, { shape });
      expect((await endOf(scheduler, id)).end).toEqual({ kind: "exited", exitCode: 0 });
      expect(readFileSync(job.stdout, "utf8")).toBe("one\neach\neach\n");
    });

    test("elements of an array know their index, and have their ids in that order", async () => {
      const indexes = [0, 2, 5];
      const own = join(bed.directory, "array");
      for (const index of indexes) mkdirSync(join(own, String(index)), { recursive: true });
      const { job, ids } = await submit(
        `echo "${scheduler.inside.index}"; exit "${scheduler.inside.index}"`,
        {
          indexes,
          stdout: join(own, INDEX, "out"),
          stderr: join(own, INDEX, "err"),
        },
      );
      for (const [at, index] of indexes.entries()) {
        expect((await endOf(scheduler, ids[at] ?? "")).end).toMatchObject({ exitCode: index });
        expect(readFileSync(join(own, String(index), "out"), "utf8")).toBe(`${index}\n`);
      }
      const query = { marker: job.marker, indexes: [0, 1, 2, 5] };
      expect((await scheduler.find([query])).get(job.marker)).toEqual([
        ids[0],
        undefined,
        ids[1],
        ids[2],
      ]);
    });

    test("many jobs are submitted at once, each with its own id", async () => {
      const codes = [3, 0, 5, 4];
      const jobs = codes.map((code) => jobIn(bed.directory, `pwd; exit ${code}`));
      const other = jobIn(bed.directory, "exit 6", { shape: { ...ONE, processes: 2 } });
      const all = [...jobs.slice(0, 2), other, ...jobs.slice(2)];
      const answers = await scheduler.submitAll(all);
      const ids = answers.map((answer) => (answer.kind === "taken" ? answer.ids[0] : undefined));
      for (const [at, code] of [3, 0, 6, 5, 4].entries()) {
        const { end } = await endOf(scheduler, ids[at] ?? "");
        expect(end).toEqual({ kind: "exited", exitCode: code });
      }
      for (const { stdout, directory } of jobs) {
        expect(readFileSync(stdout, "utf8")).toBe(`${directory}\n`);
      }
      const found = await scheduler.find(all);
      expect(all.map(({ marker }) => found.get(marker)?.[0])).toEqual(ids);
    });

    test("an array of instances must be submitted one by one", async () => {
      const shape = { ...ONE, processes: 2 };
      await expect(submit("true", { shape, indexes: [0, 1] })).rejects.toMatchObject({
        code: "exhausted",
      });
    });

    test("a job with dependencies begins when they have succeeded", async () => {
      const mark = join(bed.directory, "mark");
      const before = await only(`sleep 0.2; touch '${mark}'`);
      const after = await only(`[ -e '${mark}' ]`, { after: [before.id] });
      expect((await endOf(scheduler, after.id)).end).toEqual({ kind: "exited", exitCode: 0 });
    });

    test("a job whose dependency fails never begins", async () => {
      const mark = join(bed.directory, "mark");
      const before = await only("sleep 0.2; exit 1");
      const after = await only(`touch '${mark}'`, { after: [before.id] });
      const { end, startedAtMs } = await endOf(scheduler, after.id);
      expect([end.kind, startedAtMs, existsSync(mark)]).toEqual(["skipped", undefined, false]);
    });

    test("jobs are cancelled; ended or unknown ones are ignored", async () => {
      const { id } = await only("exec sleep 1000");
      const done = await only("true");
      await endOf(scheduler, done.id);
      await eventually(async () => (await scheduler.poll([id])).get(id)?.kind === "running", {
        what: "it to run",
      });
      await scheduler.cancel([done.id, id, "f2222"], "ask");
      expect((await endOf(scheduler, id)).end).toEqual({ kind: "exited", exitCode: 143 });
      await scheduler.cancel([id, done.id], "kill");
    });

    test("jobs that ignore TERM are killed, and not before that is requested", async () => {
      const mark = join(bed.directory, "deaf");
      const { id } = await only(`trap '' TERM; touch '${mark}'; while :; do sleep 0.1; done`);
      await eventually(() => existsSync(mark), { what: "it to ignore TERM" });
      await scheduler.cancel([id], "ask");
      expect((await scheduler.poll([id])).get(id)?.kind).toBe("running");
      await scheduler.cancel([id], "kill");
      expect((await endOf(scheduler, id)).end).toEqual({ kind: "cancelled" });
    });

    test("Flux's own time limit is a fallback behind the agent's", async () => {
      // The agent would end the job after 0.3 s. A negative grace brings Flux's limit near.
      const { id } = await only("exec sleep 1000", { timeLimitMs: 300, killGraceMs: -60_000 });
      expect((await endOf(scheduler, id)).end.kind).toBe("time-limit");
    });

    test("one call polls many jobs, including unknown ones", async () => {
      const [a, b] = [await only("true"), await only("exit 1")];
      await Promise.all([endOf(scheduler, a.id), endOf(scheduler, b.id)]);
      const states = await scheduler.poll([a.id, "f2222", b.id]);
      expect([...states].map(([id, { kind }]) => [id, kind])).toEqual([
        [a.id, "ended"],
        ["f2222", "unknown"],
        [b.id, "ended"],
      ]);
      expect((await scheduler.poll(["f2222"])).get("f2222")).toEqual({ kind: "unknown" });
    });

    test("jobs are found by their markers, also when they have ended", async () => {
      const { job, id } = await only("true");
      await endOf(scheduler, id);
      const running = await only("exec sleep 1000");
      const found = await scheduler.find([
        job,
        running.job,
        { marker: "busbar:no", indexes: undefined },
      ]);
      expect([...found]).toEqual([
        [job.marker, [id]],
        [running.job.marker, [running.id]],
      ]);
      await scheduler.cancel([running.id], "kill");
    });
  });
}

describeScheduler("the stand-in for Flux", makeStandIn);

let real: FluxInstance | undefined;
beforeAll(async () => {
  if (isFluxHere) real = await startFlux();
});
afterAll(() => real?.stop());
describeScheduler(
  isFluxHere ? "a real Flux" : "a real Flux (there is none on PATH)",
  () => real?.openBed() ?? makeStandIn(),
  isFluxHere,
);

describe("a faulty Flux", () => {
  let standIn: StandIn;
  afterEach(() => standIn.dispose());
  const open = (timeoutMs?: number): LowerScheduler => {
    standIn = makeStandIn();
    return createFluxScheduler(
      createFluxCommand({ env: standIn.env, ...(timeoutMs === undefined ? {} : { timeoutMs }) }),
    );
  };
  const all = (scheduler: LowerScheduler) => [
    () => submitOne(scheduler, jobIn(standIn.directory, "true")),
    () => scheduler.find([{ marker: "busbar:x", indexes: undefined }]),
    () => scheduler.poll(["f1"]),
    () => scheduler.cancel(["f1"], "ask"),
  ];

  test("the broker is away: the state is unknown", async () => {
    const scheduler = open();
    standIn.break("down");
    for (const ask of all(scheduler)) {
      await expect(ask()).rejects.toMatchObject({
        code: "unavailable",
        message: expect.stringContaining("Unable to connect"),
      });
    }
  });

  test("a command hangs: the wait is bounded", async () => {
    const scheduler = open(300);
    standIn.break("hang");
    for (const ask of all(scheduler)) {
      await expect(ask()).rejects.toMatchObject({ code: "unavailable" });
    }
  });

  test("the program does not exist", async () => {
    standIn = makeStandIn();
    const scheduler = createFluxScheduler(
      createFluxCommand({ env: standIn.env, program: "flux-is-not-here" }),
    );
    for (const ask of all(scheduler)) {
      await expect(ask()).rejects.toMatchObject({ code: "unavailable" });
    }
  });

  test("a rejection has Flux's own words", async () => {
    const scheduler = open();
    standIn.break("refuse", "unsatisfiable request");
    await expect(submitOne(scheduler, jobIn(standIn.directory, "true"))).rejects.toMatchObject({
      code: "invalid_argument",
      message: "Flux refused it: flux-submit: ERROR: unsatisfiable request",
    });
  });

  test("many jobs are one command, and rejected ones are submitted alone", async () => {
    const scheduler = open();
    const jobs = Array.from({ length: 4 }, () => jobIn(standIn.directory, "true"));
    expect((await scheduler.submitAll(jobs)).map(({ kind }) => kind)).toEqual(
      jobs.map(() => "taken"),
    );
    expect(standIn.calls().map(([command]) => command)).toEqual(["bulksubmit"]);
    standIn.break("picky");
    const more = Array.from({ length: 4 }, () => jobIn(standIn.directory, "true"));
    const answers = await scheduler.submitAll(more);
    expect(answers.map(({ kind }) => kind)).toEqual(more.map(() => "taken"));
    expect(new Set(answers.flatMap((each) => (each.kind === "taken" ? each.ids : []))).size).toBe(
      4,
    );
    const commands = standIn.calls().map(([command]) => command);
    expect(commands.slice(1)).toEqual(["bulksubmit", "submit", "submit", "submit"]);
  });

  test("hundreds of ids are polled in several commands", async () => {
    const scheduler = open();
    const ids = Array.from({ length: 501 }, (_, at) => `fX${at}`);
    expect((await scheduler.poll(ids)).size).toBe(501);
  });
});
