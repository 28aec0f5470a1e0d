import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { makesRoom } from "../../../src/agent/session/held-runs.ts";
import { runKey } from "../../../src/agent/runs/run-key.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { Executor, RunId, RunRequest } from "../../../src/ports/executor.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import { aRequest, endOfRun, readAll, reportFor } from "./executor-contract.ts";
import { kill, realClock } from "./process-bed.ts";
import { shell } from "./process-behaviour.ts";
import { keysOf, makeRemoteBed, type RemoteBed, shells } from "./remote-bed.ts";

const isStart = (argv: readonly string[]): boolean => argv[0] === "setsid";

/** Polls of unreported events take a hundredth of their time. */
const hurried: Clock = {
  nowMs: () => Date.now() * 100,
  after: (delayMs, wake) => realClock.after(delayMs / 100, wake),
};

/** Runs 1, 2, 3 with this work, as an agent has them: the first is started, the others are held. */
class Held {
  readonly executor: Executor;
  readonly requests: ReadonlyMap<string, RunRequest>;

  constructor(
    executor: Executor,
    works: readonly RunRequest["work"][],
    over: Partial<RunRequest> = {},
  ) {
    this.executor = executor;
    const requests = works.map((work, at) => aRequest(work, { ...over, id: idOf(at + 1) }));
    this.requests = new Map(requests.map((request) => [runKey(request.id), request]));
    executor.onReport((id, report) => {
      if (report.kind !== "ended" || !makesRoom(report.end)) return;
      const next = executor.ahead?.next(id);
      if (next !== undefined) this.start(next);
    });
    const [first, ...others] = requests;
    for (const request of others) executor.ahead?.hold(request);
    if (first !== undefined) executor.start(first);
  }

  start(id: RunId): void {
    const request = this.requests.get(runKey(id));
    if (request !== undefined) this.executor.start(request);
  }

  end = (jobId: number) => endOfRun(this.executor, idOf(jobId));
  isUnbegun = (jobId: number) => this.executor.ahead?.release(idOf(jobId));
  text = async (jobId: number) => (await readAll(this.executor, idOf(jobId), "stdout")).text;
}

const idOf = (jobId: number): RunId => ({ jobId, index: 0, attempt: 1 });
const exited = (exitCode: number) => ({ kind: "exited", exitCode });

let bed: RemoteBed;
let opened: Executor[] = [];
afterEach(async () => {
  for (const executor of opened) await executor.close();
  opened = [];
  await bed.dispose();
});
async function open(over: Parameters<RemoteBed["open"]>[0] = {}): Promise<Executor> {
  const executor = await bed.open({ clock: hurried, ...over });
  opened.push(executor);
  return executor;
}
const starts = () => bed.shell().commands.filter(isStart);

for (const path of shells) {
  describe(`runs in one command, with ${path}`, () => {
    beforeEach(() => {
      bed = makeRemoteBed(path);
    });

    test("each has its own arguments, directory, output and exit code", async () => {
      const heads = new Map<number, string>();
      const onHeads = ({ jobId }: RunId, { stdout }: { stdout: Uint8Array }) =>
        heads.set(jobId, Buffer.from(stdout).toString());
      const nasty = ["", "a b", "$(exit 9)\n", "'\"`\\", "*", "ü"];
      const held = new Held(await open({ clock: realClock, onHeads }), [
        shell("exit 3"),
        { kind: "command", argv: ["/usr/bin/printf", "%s\\0", ...nasty] },
        shell("echo text; pwd >&2; ls -A"),
        { kind: "command", argv: ["no-such-program"] },
        shell("kill -TERM $$"),
        { kind: "script", text: "#!/bin/sh\nprintf 'no newline'\nexit 7\n" },
        shell("echo a line that is longer than a preview"),
      ]);
      expect((await held.end(7)).end).toEqual(exited(0));
      const ends = await Promise.all([1, 2, 3, 4, 5, 6].map(held.end));
      expect(ends.map(({ end }) => end)).toMatchObject([
        exited(3),
        exited(0),
        exited(0),
        { kind: "could-not-start", message: expect.stringMatching(/not found/) as string },
        { kind: "signalled", signal: "SIGTERM" },
        exited(7),
      ]);
      expect(starts().map(keysOf)).toEqual([
        ["1.0.1", "2.0.1", "3.0.1", "4.0.1", "5.0.1", "6.0.1", "7.0.1"],
      ]);
      expect((await held.text(2)).split("\0").slice(0, -1)).toEqual(nasty);
      expect(await held.text(3)).toBe("text\n");
      expect([3, 6, 7].map((jobId) => heads.get(jobId))).toEqual([
        "text\n",
        "no newline",
        "a line that is longer th",
      ]);
      const times = ends.map(({ endedAtMs }) => endedAtMs);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
    });

    test("a long one does not delay the ends before or after it", async () => {
      const marks = join(bed.directory, "marks");
      const mark = shell('echo x >>"$1"', marks);
      const held = new Held(await open(), [shell("exit 4"), shell("sleep 1000"), mark]);
      expect((await held.end(1)).end).toEqual(exited(4));
      await eventually(() => reportFor(held.executor, idOf(2))?.kind === "running", {
        what: "the second to run",
      });
      expect(await held.isUnbegun(3)).toBe(true);
      expect(await held.isUnbegun(2)).toBe(false);
      held.start(idOf(3)); // it arrives here once more
      expect((await held.end(3)).end).toEqual(exited(0));
      held.executor.stop(idOf(2));
      expect((await held.end(2)).end.kind).toBe("stopped");
      expect(readFileSync(marks, "utf8")).toBe("x\n");
      const shut = () => readdirSync(bed.directory).filter((name) => name.startsWith("shut."));
      await eventually(() => shut().length === 0, { what: "the chain to be cleared away" });
    });

    test("a run that is only claimed when its machine is polled has not begun: its chain may be shut", async () => {
      const [gate, marks] = ["gate", "marks"].map((name) => join(bed.directory, name));
      const wait = shell('while [ ! -e "$1" ]; do sleep 0.05; done; exit 8', gate ?? "");
      const held = new Held(await open(), [wait, shell('echo x >>"$1"', marks ?? "")]);
      await eventually(() => bed.processes().length >= 2, { what: "its processes" });
      const state = join(bed.directory, "2.0.1.state");
      const wrapper = readFileSync(`/proc/${bed.wrapperOf("1.0.1")}/stat`, "utf8");
      writeFileSync(state, `terms 5 9 - sh\n${wrapper}`);
      const polls = () => bed.shell().commands.filter((argv) => !isStart(argv)).length;
      const before = polls();
      await eventually(() => polls() >= before + 3, { what: "some polls" });
      expect(reportFor(held.executor, idOf(2))).toBeUndefined();
      rmSync(state); // as the wrapper does when its chain was shut
      expect(await held.isUnbegun(2)).toBe(true);
      held.start(idOf(2)); // it arrives here once more
      writeFileSync(gate ?? "", "");
      expect((await held.end(2)).end).toEqual(exited(0));
      expect((await held.end(1)).end).toEqual(exited(8));
      expect(readFileSync(marks ?? "", "utf8")).toBe("x\n");
    });

    test("a withdrawn run does not begin when its turn comes", async () => {
      const [gate, marks] = ["gate", "marks"].map((name) => join(bed.directory, name));
      const wait = shell('while [ ! -e "$1" ]; do sleep 0.05; done; exit 8', gate ?? "");
      const held = new Held(await open(), [wait, shell('echo x >>"$1"', marks ?? "")]);
      await eventually(() => bed.processes().length >= 2, { what: "its processes" });
      expect(await held.isUnbegun(2)).toBe(true);
      writeFileSync(gate ?? "", "");
      expect((await held.end(1)).end).toEqual(exited(8));
      const [command = []] = starts();
      await eventually(() => bed.shell().ended.has(command), { what: "the command to end" });
      expect(existsSync(marks ?? "")).toBe(false);
    });

    test("a time limit counts for each of them", async () => {
      const works = [shell("sleep 0.4"), shell("sleep 1000"), shell("exit 5")];
      const held = new Held(await open({ clock: realClock }), works, { timeLimitMs: 1_000 });
      const { end, startedAtMs = 0, endedAtMs } = await held.end(2);
      expect(end.kind).toBe("time-limit");
      expect(endedAtMs - startedAtMs).toBeGreaterThanOrEqual(950);
      expect((await held.end(1)).end).toEqual(exited(0));
      expect((await held.end(3)).end).toEqual(exited(5));
    });
  });
}

describe("runs in one command", () => {
  beforeEach(() => {
    bed = makeRemoteBed("/bin/sh");
  });

  test("ends that are never reported are found, each once", async () => {
    const executor = await open();
    bed.shell().faults = { drops: isStart };
    const ends: string[] = [];
    executor.onReport((id, { kind }) => kind === "ended" && ends.push(runKey(id)));
    const held = new Held(
      executor,
      [1, 2, 3].map((code) => shell(`exit ${code}`)),
    );
    expect((await held.end(3)).end).toEqual(exited(3));
    expect((await held.end(2)).end).toEqual(exited(2));
    expect(ends).toEqual(["1.0.1", "2.0.1", "3.0.1"]);
  });

  test("their wrapper is killed: one has vanished, the next runs once", async () => {
    const marks = join(bed.directory, "marks");
    const held = new Held(await open(), [shell("sleep 1000"), shell('echo x >>"$1"', marks)]);
    await eventually(() => bed.processes().length >= 2, { what: "its processes" });
    kill(bed.wrapperOf("1.0.1") ?? 0);
    expect((await held.end(1)).end.kind).toBe("vanished");
    expect(await held.isUnbegun(2)).toBe(true);
    held.start(idOf(2));
    expect((await held.end(2)).end).toEqual(exited(0));
    expect(readFileSync(marks, "utf8")).toBe("x\n");
  });

  test("the next does not begin in a session that is being ended, but soon after", async () => {
    const works = [shell("trap '' TERM; sleep 1000 & wait; wait"), shell("exit 6")];
    const held = new Held(await open({ clock: realClock }), works, { killGraceMs: 300 });
    await eventually(() => bed.processes().length >= 3, { what: "its processes" });
    held.executor.stop(idOf(1));
    expect((await held.end(1)).end.kind).toBe("stopped");
    held.start(idOf(2));
    expect((await held.end(2)).end).toEqual(exited(6));
  });

  test("one that is stopped before its turn never begins", async () => {
    const held = new Held(await open(), [shell("sleep 1000"), shell("echo began")]);
    await eventually(() => bed.processes().length >= 2, { what: "its processes" });
    held.start(idOf(2));
    held.executor.stop(idOf(2));
    expect(await held.end(2)).toMatchObject({ end: { kind: "stopped" }, startedAtMs: undefined });
    held.executor.stop(idOf(1));
    await held.end(1);
    expect(await held.text(2)).toBe("");
  });

  test("the next executor finds the runs that have begun, and no other begins", async () => {
    const marks = join(bed.directory, "marks");
    const works = [shell("sleep 1000"), shell('echo x >>"$1"', marks)];
    const held = new Held(await open(), works);
    await eventually(() => bed.processes().length >= 2, { what: "its processes" });
    await held.executor.close();
    bed.shell().close();
    const next = await open({ link: "other" });
    expect(next.known().map(({ id }) => id)).toEqual([idOf(1)]);
    next.stop(idOf(1));
    await endOfRun(next, idOf(1));
    expect(existsSync(marks)).toBe(false);
  });

  test("a late start of an earlier link does not begin", async () => {
    const first = await open({ link: "first" });
    bed.shell().faults = { ignores: isStart };
    first.start(aRequest(shell("sleep 1000")));
    const [late = []] = starts();
    const { commands } = bed.shell();
    commands.splice(commands.indexOf(late), 1); // the bed waits for sent commands
    await bed.abandon(first);
    const second = await open({ link: "second" });
    await bed.shell().exec(late);
    expect(existsSync(join(bed.directory, "1.0.1.state"))).toBe(false);
    expect(bed.processes()).toEqual([]);
    second.start(aRequest(shell("exit 2")));
    expect((await endOfRun(second, idOf(1))).end).toEqual(exited(2));
  });
});

describe("a child that has left the session of its run", () => {
  let pid = 0;
  beforeEach(() => {
    bed = makeRemoteBed("/bin/sh");
  });
  afterEach(() => {
    if (pid > 0 && existsSync(`/proc/${pid}`)) kill(pid);
  });

  async function childOf(executor: Executor, then: string): Promise<void> {
    const file = join(bed.directory, "child");
    const text = `setsid sh -c 'echo $$ >"$0"; exec sleep 1000' "$1" </dev/null >/dev/null 2>&1 &
      while [ ! -s "$1" ]; do sleep 0.05; done; ${then}`;
    executor.start(aRequest(shell(text, file)));
    await eventually(() => existsSync(file) && readFileSync(file, "utf8").endsWith("\n"), {
      what: "the child",
    });
    pid = Number(readFileSync(file, "utf8"));
    expect(existsSync(`/proc/${pid}`)).toBe(true);
  }
  const isGone = (): Promise<unknown> =>
    eventually(() => !existsSync(`/proc/${pid}`), { what: "the child to go" });

  test("is ended when the end of the run is recorded", async () => {
    const executor = await open();
    await childOf(executor, "exit 0");
    await endOfRun(executor, idOf(1));
    executor.forget(idOf(1));
    await isGone();
  });

  test("is ended by a stop", async () => {
    const executor = await open();
    await childOf(executor, "sleep 1000");
    executor.stop(idOf(1));
    await endOfRun(executor, idOf(1));
    await isGone();
  });
});
