import { createHash, randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ProcessExecutorOptions } from "../../../src/agent/executors/process/process-executor.ts";
import { limits } from "../../../src/limits.ts";
import type { AttachedRun } from "../../../src/ports/attached-run.ts";
import type { Executor, RunId, RunRequest } from "../../../src/ports/executor.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import { aRequest, endOfRun, readAll } from "./executor-contract.ts";
import {
  describeLauncher,
  describeLaunchers,
  taggedBy,
  useProcessExecutor,
} from "./process-bed.ts";

const ID: RunId = { jobId: 1, index: 0, attempt: 1 };
const shell = (text: string) => ({ kind: "command", argv: ["/bin/sh", "-c", text] }) as const;

const attached = (
  kind: "stdin" | "terminal",
  text: string,
  over: Partial<RunRequest> & { readonly hangUpMs?: number } = {},
): RunRequest => {
  const { hangUpMs = 60_000, ...rest } = over;
  return aRequest(shell(text), { attach: { kind, hangUpMs }, ...rest });
};

/** As after the death of an agent. */
async function reopen(
  own: ReturnType<typeof useProcessExecutor>,
  over: Partial<ProcessExecutorOptions> = {},
): Promise<void> {
  await own.bed.abandon(own.executor);
  own.executor = await own.bed.open(over);
}

/** A client of a run, with the messages that it received. */
class Client {
  readonly run: AttachedRun;
  started: number | undefined;
  seen = 0;
  output = "";
  isOutputComplete = false;
  over: { readonly error: string | undefined } | undefined;

  constructor(executor: Executor, { outputOffset = 0, size = { rows: 24, columns: 80 } } = {}) {
    this.run =
      executor.attach?.(ID, {
        started: (offset) => (this.started = offset),
        seen: (offset) => (this.seen = offset),
        part: ({ offset, data, end }) => {
          this.output += Buffer.from(data).toString("latin1");
          this.isOutputComplete ||= end;
          this.run.seen(offset + data.length);
        },
        over: (error) => (this.over = { error }),
      }) ?? expect.fail("this executor takes no clients");
    this.run.open(outputOffset, size);
  }

  send(offset: number, text: string | Uint8Array, end = false): void {
    this.run.part({ offset, data: Buffer.from(text), end });
  }

  connects(): Promise<number> {
    return eventually(() => this.started, { what: "the run's end to be connected" });
  }

  shows(text: string): Promise<boolean> {
    return eventually(() => this.output.includes(text), {
      what: () => `${JSON.stringify(text)} in ${JSON.stringify(this.output)}`,
    });
  }
}

describeLaunchers("a client is the standard input", (launcher) => {
  const own = useProcessExecutor(launcher);

  test("any bytes and the end of input arrive, and the exit code is the command's", async () => {
    own.executor.start(attached("stdin", "sha256sum; exit 3"));
    const client = new Client(own.executor);
    const data = randomBytes(200_000);
    await client.connects();
    client.send(0, data.subarray(0, 60_000));
    client.send(60_000, data.subarray(60_000, 120_000));
    client.send(120_000, data.subarray(120_000, 160_000));
    client.send(160_000, data.subarray(160_000), true);
    const { end } = await endOfRun(own.executor, ID);
    expect(end).toEqual({ kind: "exited", exitCode: 3 });
    const { text } = await readAll(own.executor, ID, "stdout");
    expect(text).toBe(`${createHash("sha256").update(data).digest("hex")}  -\n`);
    await eventually(() => client.over, { what: "the client to hear of the end" });
    expect(client.over).toEqual({ error: undefined });
    expect(readdirSync(join(own.bed.directory, "attach"))).toEqual([]);
  });

  test("a client that lost its link continues, also with another executor", async () => {
    own.executor.start(attached("stdin", "cat"));
    const first = new Client(own.executor);
    await first.connects();
    first.send(0, "one ");
    await eventually(() => first.seen === 4, { what: "the run to have it" });
    first.run.close();
    await reopen(own);
    const second = new Client(own.executor);
    expect(await second.connects()).toBe(4);
    second.send(4, "two", true);
    expect((await endOfRun(own.executor, ID)).end).toEqual({ kind: "exited", exitCode: 0 });
    expect((await readAll(own.executor, ID, "stdout")).text).toBe("one two");
  });
});

describeLauncher("native", "a client is the standard input, native launcher", () => {
  const own = useProcessExecutor("native");

  test("without its client the run is hung up, and does not appear to have succeeded", async () => {
    own.executor.start(attached("stdin", "trap 'exit 0' HUP; cat", { hangUpMs: 1_000 }));
    const client = new Client(own.executor);
    await client.connects();
    client.send(0, "half");
    await eventually(() => client.seen === 4, { what: "the run to have it" });
    client.run.close();
    expect((await endOfRun(own.executor, ID)).end).toEqual({ kind: "signalled", signal: "SIGHUP" });
    expect((await readAll(own.executor, ID, "stderr")).text).toContain("its client is gone");
  });

  test("a task that never reads gets no more than the window and its pipe", async () => {
    own.executor.start(attached("stdin", "exec sleep 1000"));
    const client = new Client(own.executor);
    await client.connects();
    const data = new Uint8Array(limits.attachPartBytesMax);
    let sent = 0;
    const fill = (): boolean => {
      while (sent + data.length <= client.seen + limits.attachWindowBytes) {
        client.send(sent, data);
        sent += data.length;
      }
      return client.seen > 0;
    };
    await eventually(fill, { what: "the pipe to be full" });
    const full = client.seen;
    expect(sent).toBeLessThanOrEqual(limits.attachWindowBytes + 1_048_576);
    // No client may send more than the window: the run closes this connection, and another client may attach.
    client.send(sent, data);
    await eventually(() => client.over, { what: "the run's end to let go" });
    const again = new Client(own.executor);
    expect(await again.connects()).toBeGreaterThanOrEqual(full);
    own.executor.stop(ID);
    expect((await endOfRun(own.executor, ID)).end).toMatchObject({ kind: "stopped" });
  });

  test("a task whose input has ended needs no client", async () => {
    // The command itself outlasts the time after which it would be hung up.
    own.executor.start(attached("stdin", "cat; sleep 1.5; exit 7", { hangUpMs: 1_000 }));
    const client = new Client(own.executor);
    await client.connects();
    client.send(0, "all", true);
    await eventually(() => client.seen === 3, { what: "the run to have it" });
    client.run.close();
    expect((await endOfRun(own.executor, ID)).end).toEqual({ kind: "exited", exitCode: 7 });
  });

  test.each([
    ["/nowhere/tool", "busbar: program not found: /nowhere/tool\n"],
    ["tool", "busbar: program not found: tool; looked in PATH=/nowhere:/bin\n"],
    ["./tool", "busbar: program not found: ./tool; looked in /usr\n"],
  ])("a command that cannot start fails with the reason: %s", async (program, why) => {
    own.executor.start(
      aRequest(
        { kind: "command", argv: [program] },
        {
          attach: { kind: "stdin", hangUpMs: 60_000 },
          cwd: "/usr",
          env: { PATH: "/nowhere:/bin" },
        },
      ),
    );
    expect((await endOfRun(own.executor, ID)).end).toEqual({ kind: "exited", exitCode: 127 });
    expect((await readAll(own.executor, ID, "stderr")).text).toBe(why);
  });

  test("an agent without the program starts nothing, and names the missing program", async () => {
    await reopen(own, { attaches: false });
    expect("attach" in own.executor).toBe(false);
    own.executor.start(attached("stdin", "cat"));
    const { end } = await endOfRun(own.executor, ID);
    expect(end).toMatchObject({ kind: "could-not-start" });
    expect("message" in end && end.message).toContain("it has no dist/native/attach-linux");
  });
});

describeLaunchers("a client is the terminal", (launcher) => {
  const own = useProcessExecutor(launcher);

  test("size, keys, Ctrl-C and the exit code are those of a terminal", async () => {
    const text =
      "stty size; trap 'echo caught' INT; echo ready; until read a; do :; done; stty size; read b; exit 5";
    own.executor.start(attached("terminal", text));
    const client = new Client(own.executor, { size: { rows: 31, columns: 91 } });
    await client.shows("31 91\r\n");
    await client.shows("ready");
    client.run.resize({ rows: 40, columns: 100 });
    client.send(0, "\x03");
    await client.shows("caught");
    client.send(1, "x\r");
    await client.shows("40 100\r\n");
    client.send(3, "y\r");
    expect((await endOfRun(own.executor, ID)).end).toEqual({ kind: "exited", exitCode: 5 });
    await eventually(() => client.isOutputComplete, { what: "the end of the output" });
    expect((await readAll(own.executor, ID, "stdout")).text).toBe(client.output);
  });
});

describeLauncher("native", "a client is the terminal, native launcher", () => {
  const own = useProcessExecutor("native");

  test("output beyond the window waits for a client that reads, and the log has its beginning", async () => {
    const lines = 100_000; // 688,895 bytes, with carriage returns
    own.executor.start(
      attached("terminal", `seq 1 ${lines}; echo over`, { outputLimitBytes: 1_000 }),
    );
    const client = new Client(own.executor);
    await client.shows("over\r\n");
    expect((await endOfRun(own.executor, ID)).end).toEqual({ kind: "exited", exitCode: 0 });
    expect(client.output.split("\r\n").length).toBe(lines + 2);
    expect((await readAll(own.executor, ID, "stdout")).text).toBe(client.output.slice(0, 1_000));
  });

  test("a client that reconnects receives the output that it missed", async () => {
    own.executor.start(attached("terminal", "echo first; read a; echo got $a; read b"));
    const first = new Client(own.executor);
    await first.shows("first\r\n");
    first.run.close();
    const second = new Client(own.executor, { outputOffset: first.output.length });
    second.send(await second.connects(), "it\r");
    await second.shows("got it\r\n");
    expect(second.output).not.toContain("first");
    own.executor.stop(ID);
    await endOfRun(own.executor, ID);
  });

  test("a shell that ignores TERM ends when its run is stopped, and its children with it", async () => {
    const tree = "trap '' TERM; sleep 1000 & echo ready; while :; do sleep 0.1; done";
    own.executor.start(attached("terminal", tree, { killGraceMs: 30_000 }));
    const client = new Client(own.executor);
    await client.shows("ready");
    own.executor.stop(ID);
    expect((await endOfRun(own.executor, ID)).end).toMatchObject({ kind: "stopped" });
    await eventually(() => taggedBy(own.bed.directory).length === 0, { what: "all to be gone" });
  });

  test("a time limit and a client that never attaches end it", async () => {
    own.executor.start(attached("terminal", "sleep 1000", { timeLimitMs: 500 }));
    const client = new Client(own.executor);
    await client.connects();
    expect((await endOfRun(own.executor, ID)).end).toMatchObject({ kind: "time-limit" });
    const other = { ...ID, jobId: 2 };
    own.executor.start(attached("terminal", "echo no", { id: other, hangUpMs: 1_000 }));
    const { end } = await endOfRun(own.executor, other);
    expect(end).toEqual({ kind: "signalled", signal: "SIGHUP" });
  });
});
