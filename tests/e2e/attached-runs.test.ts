import { type ChildProcess, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { limits } from "../../src/limits.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { type Running, Site } from "../support/busbar.ts";

const busbar = new URL("../../busbar", import.meta.url).pathname;

let site: Site;
let server: Running;
let agent: Running;
const started: ChildProcess[] = [];
beforeEach(async () => {
  site = new Site();
  server = await site.startServer();
  agent = await site.startAgent("w1", "--no-discovery");
});
afterEach(async () => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
  await site.close();
});

const sha256 = (data: Uint8Array): string => createHash("sha256").update(data).digest("hex");

/** A shell that finds `busbar`, with its output and how it ends. */
function shell(text: string) {
  const child = spawn("/bin/sh", ["-c", text], {
    cwd: site.directory,
    env: { ...process.env, BUSBAR_SERVER: site.server, busbar },
    stdio: ["pipe", "pipe", "pipe"],
  });
  started.push(child);
  const told = { stdout: "", stderr: "" };
  child.stdout.on("data", (data: Buffer) => (told.stdout += data.toString()));
  child.stderr.on("data", (data: Buffer) => (told.stderr += data.toString()));
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  return { child, told, ended };
}

async function ran(text: string) {
  const { told, ended } = shell(text);
  return { code: await ended, ...told };
}

/** Writes as fast as it is read; returns how much was. */
function feed(child: ChildProcess, totalBytes: number) {
  const chunk = randomBytes(64 * 1024);
  const hash = createHash("sha256");
  let fed = 0;
  child.stdin?.on("error", () => undefined); // it may end first
  const more = (): void => {
    for (let isTaken = true; isTaken && fed < totalBytes;) {
      const data = chunk.subarray(0, Math.min(chunk.length, totalBytes - fed));
      hash.update(data);
      fed += data.length;
      isTaken = child.stdin?.write(data) ?? false;
    }
    if (fed < totalBytes) child.stdin?.once("drain", more);
    else child.stdin?.end();
  };
  more();
  return { fed: () => fed, digest: () => hash.digest("hex") };
}

const rssMiB = ({ pid }: Running): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_024;

describe("standard input", () => {
  test("a pipe and a file are passed on, to the byte; the exit code is the command's", async () => {
    expect(await ran('echo hello | "$busbar" run -- cat')).toEqual({
      code: 0,
      stdout: "hello\n",
      stderr: "",
    });
    const data = randomBytes(300_000);
    writeFileSync(site.path("in.dat"), data);
    const viaFile = await ran('"$busbar" run -- sh -c "sha256sum; exit 3" <in.dat');
    expect([viaFile.code, viaFile.stdout]).toEqual([3, `${sha256(data)}  -\n`]);
    const named = await ran('"$busbar" run --stdin in.dat -- sha256sum');
    expect([named.code, named.stdout]).toEqual([0, `${sha256(data)}  -\n`]);
  });

  test("-n leaves it to others, and a job without input does not need it", async () => {
    const loop = 'printf "a\\nb\\n" | while read -r one; do "$busbar" run -n -- echo "$one"; done';
    expect(await ran(loop)).toMatchObject({ code: 0, stdout: "a\nb\n" });
    const many = await ran('echo x | "$busbar" run --array 0-1 -- sh -c "cat; echo ran"');
    expect([many.code, many.stdout.split("\n").sort()]).toEqual([0, ["", "[0] ran", "[1] ran"]]);
    const refused = await ran('echo x | "$busbar" run --stdin - --retries 1 -- cat');
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain(
      "busbar: --retries: cannot be combined with attach: the input cannot be repeated",
    );
  });

  test("50 MiB pass through, and no process holds them in memory", async () => {
    const before = [rssMiB(server), rssMiB(agent)];
    const { child, told, ended } = shell('exec "$busbar" run --stdin - -- sha256sum');
    const feeding = feed(child, 50 * 1_048_576);
    expect(await ended).toBe(0);
    expect(told.stdout).toBe(`${feeding.digest()}  -\n`);
    const grown = [rssMiB(server), rssMiB(agent)].map((mib, at) => mib - (before[at] ?? 0));
    for (const mib of grown) expect(mib).toBeLessThan(100);
  });

  test("a task that never reads gets no more than windows and pipes hold", async () => {
    const { child, ended } = shell('exec "$busbar" run --stdin - --name idle -- sleep 1000');
    const feeding = feed(child, 1_024 * 1_048_576);
    await site.jobIs("1", "running");
    await eventually(() => feeding.fed() > limits.attachWindowBytes, {
      what: "the window to fill",
    });
    const quiet = await eventually(
      async () => {
        const before = feeding.fed();
        await new Promise((resolve) => setTimeout(resolve, 300));
        return feeding.fed() === before ? before : undefined;
      },
      { what: "the command to stop reading" },
    );
    expect(quiet).toBeLessThan(4 * 1_048_576);
    await site.run("cancel", "1");
    expect(await ended).toBe(1);
  });

  test("the command waits for a killed server, and for a killed agent", async () => {
    const { child, told, ended } = shell(
      'exec "$busbar" run --stdin - -- sh -c "head -c 1000000 >part; touch half; sha256sum"',
    );
    const total = 4 * 1_048_576;
    const data = randomBytes(total);
    child.stdin.write(data.subarray(0, 1_500_000));
    await eventually(() => existsSync(site.path("half")), {
      what: "the task to be in the middle of its input",
    });
    await server.end("SIGKILL");
    server = await site.startServer();
    await site.nodeIs("w1", "connected");
    child.stdin.write(data.subarray(1_500_000, 2_500_000));
    await agent.end("SIGKILL");
    agent = await site.startAgent("w1", "--no-discovery");
    child.stdin.end(data.subarray(2_500_000));
    expect(await ended).toBe(0);
    expect(readFileSync(site.path("part")).equals(data.subarray(0, 1_000_000))).toBe(true);
    expect(told.stdout).toBe(`${sha256(data.subarray(1_000_000))}  -\n`);
  });

  test("a task whose client was killed is hung up: half an input is no success", async () => {
    const { child } = shell('exec "$busbar" run --stdin - --hang-up-after 1s -- cat');
    child.stdin.write("half of it");
    await site.jobIs("1", "running");
    await eventually(async () => (await site.run("logs", "1")).stdout === "half of it", {
      what: "the task to have what was sent",
    });
    child.kill("SIGKILL");
    await site.jobIs("1", "failed");
    const job = await site.json<{ reason: string; exitCode: number }>("job", "1");
    expect([job.exitCode, job.reason]).toEqual([129, expect.stringContaining("SIGHUP")]);
  });

  test("where no node supports input the job is rejected, with how to do without", async () => {
    const cluster = ["--cluster", "c", "--name", "speaker", "--data", site.path("speaker")];
    site.start(["agent", "--server", site.server, "--executor", "process", ...cluster]);
    await eventually(() => site.client.getCluster({ name: "c" }).catch(() => undefined), {
      what: "the cluster to be there",
      timeoutMs: 60_000,
    });
    const refused = await ran('echo x | "$busbar" run --cluster c -- cat');
    expect(refused.stderr).toContain("only nodes with agents pass it on");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("-n (--no-stdin)");
  });
});

describe("a terminal", () => {
  /** A shell on its own terminal (script(1)), in which the test types commands. */
  function terminal() {
    const told = shell("exec script --quiet --flush --return --command 'PS1= sh' /dev/null");
    const { stdin } = told.child;
    const prints = (text: string | RegExp): Promise<unknown> =>
      eventually(
        () =>
          typeof text === "string" ? told.told.stdout.includes(text) : text.test(told.told.stdout),
        {
          what: () => `${String(text)} in ${JSON.stringify(told.told.stdout)}`,
          timeoutMs: 60_000,
        },
      );
    return { ...told, type: (text: string) => stdin.write(text), prints };
  }

  test("a shell on a node: prompt, size, Ctrl-C, exit code, and the terminal is restored", async () => {
    const { type, prints, told, child, ended } = terminal();
    type("stty rows 33 cols 99; tty >own; echo BEFORE=$(stty -g)\n");
    await prints(/BEFORE=[0-9a-f]+:/);
    type('"$busbar" run --pty --env PS1="there> " -- sh -i; echo CODE=$? AFTER=$(stty -g)\n');
    await prints("there> ");
    type("stty size; echo on $BUSBAR_NODE with ${TERM:-nothing}\r");
    await prints("33 99");
    await prints(/on w1 with (?!nothing)\w/);
    const own = readFileSync(site.path("own"), "utf8").trim();
    const resized = spawn("stty", ["-F", own, "rows", "44", "cols", "111"], { stdio: "ignore" });
    started.push(resized);
    await eventually(
      () => {
        type("stty size\r");
        return told.stdout.includes("44 111");
      },
      { what: () => `another size in ${JSON.stringify(told.stdout)}` },
    );
    type('sh -c \'echo RUN""NING; exec sleep 1000\' && echo SL""EPT\r');
    await prints("RUNNING");
    type("\x03");
    type('echo STILL""HERE; exit 7\r');
    await prints("STILLHERE");
    await prints("CODE=7");
    await prints(/AFTER=[0-9a-f]+:/);
    expect(told.stdout).not.toContain("SLEPT");
    const settings = (name: string): string =>
      new RegExp(`${name}=([0-9a-f:]+)`).exec(told.stdout)?.[1] ?? "";
    expect(settings("AFTER")).toBe(settings("BEFORE"));
    const job = await site.json<{ spec: { attach: string } }>("job", "1");
    expect(job.spec.attach).toBe("terminal");
    type("exit\n");
    child.stdin.end();
    await ended;
  });

  test("a killed client hangs its shell up; without a terminal it is rejected", async () => {
    const refused = await ran('"$busbar" run --pty -- sh');
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.stderr).toContain("--pty: standard input and output must be a terminal");
    const { type, prints, child } = terminal();
    type('"$busbar" run --pty --hang-up-after 1s -- sh -c "echo U\\"\\"P; exec sleep 1000"\n');
    await prints("UP");
    child.kill("SIGKILL"); // the terminal is gone, and with it the command
    await site.jobIs("1", "failed");
    const { code, stdout } = await site.run("job", "1");
    expect([code, /Exit code: +129/.test(stdout), /Attach: +terminal/.test(stdout)]).toEqual([
      0,
      true,
      true,
    ]);
  });
});
