import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import type { ContainerTerms } from "../../../src/core/model/job/containers/containers.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import { writeImageLayout } from "../../support/container-image.ts";
import { aRequest, endOfRun, readAll, reportFor } from "./executor-contract.ts";
import { inImage, makeOciBed } from "./oci-bed.ts";
import { describeContainers, OciRuns, SUCCESS } from "./oci-runs.ts";
import { kill, taggedBy } from "./process-bed.ts";
import { shell } from "./process-behaviour.ts";

describeContainers("a container, when it ends,", (world) => {
  const { directory, image, kept } = world;
  const runs = new OciRuns(world);

  test("is stopped at once when its program has no handler for TERM, and in order when it has one", async () => {
    const deaf = runs.start(shell("echo ready; sleep 1000"), { killGraceMs: 600_000 });
    const polite = runs.start(
      shell("trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done"),
      { killGraceMs: 600_000 },
    );
    for (const id of [deaf, polite]) await runs.untilOutput(id, "ready\n");
    runs.executor.stop(deaf);
    runs.executor.stop(polite);
    for (const id of [deaf, polite]) {
      expect((await endOfRun(runs.executor, id)).end.kind).toBe("stopped");
    }
    expect((await readAll(runs.executor, polite, "stdout")).text).toBe("ready\nbye\n");
  });

  describe("is stopped by the signal that its image names:", () => {
    const stopped = async (stopSignal: string, text: string) => {
      const layout = join(directory, `stop-${stopSignal}`);
      const own = writeImageLayout(layout, { config: { StopSignal: stopSignal } });
      const over = { killGraceMs: 600_000, container: inImage(own) };
      const id = runs.start(shell(`${text}; echo ready; while :; do sleep 0.05; done`), over);
      await runs.untilOutput(id, "ready\n");
      runs.executor.stop(id);
      expect((await endOfRun(runs.executor, id)).end.kind).toBe("stopped");
      const { text: stdout } = await readAll(runs.executor, id, "stdout");
      const { text: stderr } = await readAll(runs.executor, id, "stderr");
      return { stdout: stdout.replace("ready\n", ""), stderr };
    };
    const traps = "trap 'echo term; exit' TERM; trap 'echo quit; exit' QUIT";

    test("that alone, and once", async () => {
      const twice = "trap 'echo term' TERM; trap 'echo quit; sleep 0.5; exit' QUIT";
      expect((await stopped("SIGQUIT", twice)).stdout).toBe("quit\n");
      expect((await stopped("3", traps)).stdout).toBe("quit\n");
    });
    test("a real-time signal", async () => {
      const real = `${traps}; trap 'echo real; exit' 37`;
      expect((await stopped("SIGRTMIN+3", real)).stdout).toBe("real\n");
      expect((await stopped("RTMAX", `${traps}; trap 'echo real; exit' 64`)).stdout).toBe("real\n");
    });
    test("at once without a handler for it, though it has one for TERM", async () => {
      expect((await stopped("SIGUSR1", traps)).stdout).toBe("");
    });
    test("TERM instead of an unknown one, and its error output says so", async () => {
      const { stdout, stderr } = await stopped("SIGNONE", traps);
      expect(stdout).toBe("term\n");
      expect(stderr).toContain('busbar: the image\'s stop signal "SIGNONE" is no signal');
    });
  });

  test("can end within its grace period when SIGSTOP has stopped its first process", async () => {
    const mark = `frozen-${process.pid}`;
    const text = "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    const id = runs.start(shell(text, mark), { killGraceMs: 120_000 });
    await runs.untilOutput(id, "ready\n");
    const [first = 0] = firstProcesses(mark);
    kill(first, "SIGSTOP");
    const isStopped = () => /^State:\sT/m.test(readFileSync(`/proc/${first}/status`, "utf8"));
    await eventually(isStopped, { what: "it to be stopped" });
    runs.executor.stop(id);
    expect((await endOfRun(runs.executor, id, 30_000)).end.kind).toBe("stopped");
    expect((await readAll(runs.executor, id, "stdout")).text).toBe("ready\nbye\n");
  });

  test("that ignores TERM is killed after its grace period, and no process of it is left", async () => {
    const id = runs.start(shell("trap '' TERM; echo ready; sleep 1000 & wait; sleep 1000"), {
      killGraceMs: 100,
    });
    await runs.untilOutput(id, "ready\n");
    runs.executor.stop(id);
    expect((await endOfRun(runs.executor, id)).end.kind).toBe("stopped");
    await runs.nothingLeft();
  });

  test("that another launcher started is killed, and no process of it is left", async () => {
    const other = makeOciBed(image, { launcher: "spawn", kept: join(directory, "spawn") });
    mkdirSync(other.directory);
    const spawning = await other.open();
    const id = { jobId: 1, index: 0, attempt: 1 };
    const work = shell("trap '' TERM; echo ready; sleep 1000");
    spawning.start(aRequest(work, { id, killGraceMs: 100 }));
    await spawning.readOutput(id, "stdout", { offset: 0, maxBytes: 9, waitMs: 20_000 });
    spawning.stop(id);
    expect((await endOfRun(spawning, id)).end.kind).toBe("stopped");
    await eventually(() => taggedBy(other.runsDirectory).length === 0, { what: "it to go" });
    await spawning.close();
    expect(readdirSync(join(other.directory, "states"))).toEqual([]);
    await other.dispose();
  });

  test("starts while others copy the same image, and after one that copied it was killed", async () => {
    const layout = writeImageLayout(join(directory, "many"), { files: { "etc/which": "many" } });
    const killed = runs.start(shell("true"), { container: inImage(layout) });
    const hasEnded = (): boolean => reportFor(runs.executor, killed)?.kind === "ended";
    await eventually(() => preparers().length > 0 || hasEnded(), { what: "it to copy" });
    for (const pid of preparers()) kill(pid);
    const { end } = await endOfRun(runs.executor, killed);
    expect(["node-fault", "exited"]).toContain(end.kind); // it may have been faster
    await runs.nothingLeft();
    const ids = Array.from({ length: 4 }, () =>
      runs.start(shell("cat /etc/which"), { container: inImage(layout) }),
    );
    for (const id of ids) {
      expect((await endOfRun(runs.executor, id)).end).toEqual(SUCCESS);
      expect((await readAll(runs.executor, id, "stdout")).text).toBe("many");
    }
  });

  const preparers = (): number[] =>
    taggedBy(runs.bed.runsDirectory).filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "latin1").startsWith(`${process.execPath}\0`);
      } catch {
        return false; // ended while we looked
      }
    });

  test("that ends leaves no mount, no state and no directory", async () => {
    await runs.inside("sleep 1000 & exit 0");
    await runs.nothingLeft();
    expect(readFileSync("/proc/self/mounts", "utf8")).not.toContain(kept);
  });

  test("of several, the first to end ends all, and lines have names", async () => {
    const shared = join(directory, "shared");
    mkdirSync(shared);
    const container: ContainerTerms = {
      ...inImage(image, { mounts: [{ source: shared, target: "/s", writable: true }] }),
      image: undefined,
      containers: [
        {
          name: "web",
          image,
          command: [
            "sh",
            "-c",
            'echo "$ROLE $JOB"; trap "echo bye; exit 0" TERM; touch /s/ready; while :; do sleep 0.05; done',
          ],
          env: { ROLE: "web" },
        },
        {
          name: "once",
          image,
          command: ["sh", "-c", "while [ ! -e /s/ready ]; do sleep 0.05; done; echo done; exit 5"],
          env: {},
        },
        { name: "own", image, command: ["sleep", "1000"], env: {} },
      ],
    };
    const { end, stdout } = await runs.run(
      { kind: "command", argv: [] },
      { container, env: { JOB: "j" } },
    );
    expect(end).toEqual({ kind: "exited", exitCode: 5 });
    expect(stdout.trim().split("\n").toSorted()).toEqual(["once: done", "web: bye", "web: web j"]);
    await runs.nothingLeft();
  });

  test("of several that are stopped, all are", async () => {
    const one = (name: string) => ({
      name,
      image,
      command: ["sh", "-c", "echo ready; exec sleep 1000"],
      env: {},
    });
    const container = { ...inImage(image), image: undefined, containers: [one("a"), one("b")] };
    const id = runs.start({ kind: "command", argv: [] }, { container, killGraceMs: 600_000 });
    await runs.untilOutput(id, "a: ready\n", "b: ready\n");
    runs.executor.stop(id);
    expect((await endOfRun(runs.executor, id)).end.kind).toBe("stopped");
    await runs.nothingLeft();
  });

  test("leftovers of dead runs' containers are removed when an agent starts", async () => {
    const bed = makeOciBed(image, { kept });
    const first = await bed.open();
    const id = { jobId: 900, index: 0, attempt: 1 };
    first.start(aRequest(shell("echo ready; sleep 1000"), { id }));
    await first.readOutput(id, "stdout", { offset: 0, maxBytes: 10, waitMs: 20_000 });
    await first.close();
    expect(existsSync(join(kept, "runs/900.0.1"))).toBe(true);
    rmSync(bed.runsDirectory, { recursive: true, force: true }); // no agent knows the run any more
    const [state = ""] = readdirSync(join(kept, "states"));
    expect(state).toMatch(/900\.0\.1-0$/);
    mkdirSync(bed.runsDirectory);
    const second = await bed.open();
    await second.close();
    expect(readdirSync(join(kept, "runs"))).toEqual([]);
    expect(readdirSync(join(kept, "states"))).toEqual([]);
    await bed.dispose();
  });
});

/** The first processes of containers whose command has this word. */
function firstProcesses(word: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
        const status = readFileSync(`/proc/${pid}/status`, "utf8");
        return words.includes(word) && /^NSpid:.*\s1$/m.test(status);
      } catch {
        return false; // it has ended
      }
    })
    .map(Number);
}
