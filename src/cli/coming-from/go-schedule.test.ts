import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { planGoSchedule } from "./go-schedule-import.ts";
import { runHere } from "../testing/context.ts";

const BASIC = `basic_config:
  log_level: fatal
  stdout: true
  log_path: log.log
  tmp_path: .
`;
const MANAGEMENT = `${BASIC}  colour: blue
listening_address: 127.0.0.1:1234
ping_timer: 5
silence_timeout: 10
etcd_address: 172.17.0.2:2379
etcd_dial_timeout: 10
scheduler_algo: rr
dead_timeout: 60
server_address: elsewhere
`;
const WORKER = `${BASIC}server_address: 10.0.0.5:1234
silence_timeout: 10
reconnect_timeout: 3
connection_timeout: 10
connetion_timeout: 10
dial_timeout: 5
`;
const SCHEDCTL = `${BASIC}server_address: 10.0.0.5:1234
connection_timeout: 10
`;

/** There is no server: none is needed. */
async function importing(content: string, flags = "") {
  const readInput = async () => Buffer.from(content);
  const line = `go-schedule import dir/x.yaml ${flags}`.trim().split(" ");
  const { code, stdout, stderr } = await runHere(line, { readInput });
  return { code, stdout, stderr };
}
const stepOf = (content: string, key: string) =>
  planGoSchedule(content, "x").steps.find((step) => step.key === key);
const management = (lines: string) => `scheduler_algo: rr\n${lines}`;

describe("go-schedule import", () => {
  test("of a management node prints every key, and how to start", async () => {
    const told = await importing(MANAGEMENT);
    expect(told).toMatchObject({ code: 0, stderr: "" });
    expect(told.stdout).toMatchInlineSnapshot(`
      "KEY                     BECOMES                                                 HOW
      basic_config.log_level  --log-level error                                       at the server's start
      basic_config.stdout     nothing: logs go to standard error
      basic_config.log_path   nothing: logs go to standard error; 2>>FILE keeps them
      basic_config.tmp_path   nothing: go-schedule does not use it either
      listening_address       --go-schedule 127.0.0.1:1234                            at the server's start
      ping_timer              --go-schedule-ping 5s                                   at the server's start
      silence_timeout         --go-schedule-silence 10s                               at the server's start
      etcd_address            nothing: the server keeps its own data, in --data       not done: task_* and worker_* in etcd are not read; let go-schedule finish its tasks first
      etcd_dial_timeout       nothing: no etcd is dialled
      scheduler_algo          --policy round-robin                                    at the server's start
      dead_timeout            --go-schedule-time-limit 60s                            at the server's start; a task that runs longer is stopped, not only given up
      basic_config.colour     nothing: go-schedule does not read it either
      server_address          nothing: go-schedule does not read it either

      Start the server with:  busbar server --log-level error --go-schedule 127.0.0.1:1234 --go-schedule-ping 5s --go-schedule-silence 10s --policy round-robin --go-schedule-time-limit 60s
      "
    `);
  });

  test("of a worker prints that it stays unchanged, and its settings", async () => {
    const told = await importing(WORKER);
    expect(told).toMatchObject({ code: 0, stderr: "" });
    expect(told.stdout).toMatchInlineSnapshot(`
      "KEY                     BECOMES                                                                           HOW
      basic_config.log_level  itself: what it logs                                                              stays in its file
      basic_config.stdout     itself: where it logs                                                             stays in its file
      basic_config.log_path   itself: where it logs                                                             stays in its file
      basic_config.tmp_path   nothing: go-schedule does not use it either
      server_address          itself: must lead to the server's --go-schedule                                   stays in its file
      silence_timeout         itself: how long it waits for a message of the server                             stays in its file
      reconnect_timeout       itself: how soon it reconnects                                                    stays in its file
      connection_timeout      nothing: go-schedule reads connetion_timeout instead, and does not use it either
      connetion_timeout       nothing: go-schedule does not use it either
      dial_timeout            itself: older workers read it                                                     stays in its file

      The worker continues with this file. To replace it:  busbar agent --server HOST:7071 --name NAME
      "
    `);
  });

  test("of schedctl prints that it stays unchanged, and its settings", async () => {
    const told = await importing(SCHEDCTL);
    expect(told).toMatchObject({ code: 0, stderr: "" });
    expect(told.stdout).toMatchInlineSnapshot(`
      "KEY                     BECOMES                                          HOW
      basic_config.log_level  itself: what it logs                             stays in its file
      basic_config.stdout     itself: where it logs                            stays in its file
      basic_config.log_path   itself: where it logs                            stays in its file
      basic_config.tmp_path   nothing: go-schedule does not use it either
      server_address          itself: must lead to the server's --go-schedule  stays in its file
      connection_timeout      itself: how long it waits for an answer          stays in its file

      schedctl continues with this file. To replace it:  busbar submit, jobs, logs, nodes, ...
      "
    `);
  });

  test("prints the same as JSON", async () => {
    const { stdout } = await importing(MANAGEMENT, "--output json");
    expect(JSON.parse(stdout)).toMatchObject({
      file: "management-node",
      keys: expect.arrayContaining([
        { key: "ping_timer", becomes: "--go-schedule-ping 5s", kind: "flag" },
        {
          key: "etcd_address",
          becomes: "nothing: the server keeps its own data, in --data",
          kind: "blocked",
          hint: "task_* and worker_* in etcd are not read; let go-schedule finish its tasks first",
        },
        {
          key: "basic_config.colour",
          becomes: "nothing: go-schedule does not read it either",
          kind: "none",
        },
      ]) as unknown,
      server: {
        flags: [
          ["--log-level", "error"],
          ["--go-schedule", "127.0.0.1:1234"],
          ["--go-schedule-ping", "5s"],
          ["--go-schedule-silence", "10s"],
          ["--policy", "round-robin"],
          ["--go-schedule-time-limit", "60s"],
        ].flat(),
      },
      warnings: [],
    });
  });

  test("where others can reach it, the import does not decide about certificates", async () => {
    for (const [written, address] of [
      ["0.0.0.0:1234", "0.0.0.0:1234"],
      [":1234", "0.0.0.0:1234"],
      ["manager.example.org:1", "manager.example.org:1"],
    ]) {
      const plan = planGoSchedule(management(`listening_address: ${written}`), "x");
      expect(plan.flags).toEqual(["--policy", "round-robin", "--go-schedule", address]);
      expect(plan.steps.at(-1)?.hint).toContain("--go-schedule-ca, or --go-schedule-insecure");
      expect(plan.warnings.join()).toContain(`every client that reaches ${address} `);
    }
    const { stderr } = await importing(management("listening_address: :1234"));
    expect(stderr).toMatch(/^busbar: listening_address: every client/);
    const local = planGoSchedule(management("listening_address: '[::1]:1234'"), "x");
    expect(local).toMatchObject({
      warnings: [],
      steps: [{}, { becomes: "--go-schedule [::1]:1234" }],
    });
  });

  test("the server accepts the flags that it prints", async () => {
    const seconds = fc.integer({ min: 1, max: 1_000 });
    const file = fc.record({
      scheduler_algo: fc.constantFrom("rr", "rand"),
      listening_address: fc.constantFrom("localhost:1234", undefined),
      ping_timer: seconds,
      longer: seconds,
      dead_timeout: fc.option(seconds, { nil: undefined }),
      log_level: fc.constantFrom("panic", "warning", "trace"),
    });
    await fc.assert(
      fc.asyncProperty(file, async ({ longer, log_level, ...rest }) => {
        const silence_timeout = rest.ping_timer + longer;
        const content = JSON.stringify({ ...rest, silence_timeout, basic_config: { log_level } });
        const { flags } = planGoSchedule(content, "x");
        const { code, stderr, started } = await runHere(["server", ...flags]);
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
        expect(started).toMatchObject([
          {
            policy: rest.scheduler_algo === "rr" ? "round-robin" : "random",
            goSchedule: {
              address: rest.listening_address ?? "127.0.0.1:1234",
              pingMs: rest.ping_timer * 1_000,
              silenceMs: silence_timeout * 1_000,
            },
          },
        ]);
      }),
    );
  });

  test("a file without an address gets the port that its programs connect to", () => {
    for (const file of ["scheduler_algo: rand", "scheduler_algo: rand\nlistening_address:"]) {
      expect(planGoSchedule(file, "x").flags).toEqual(["--go-schedule", "--policy", "random"]);
    }
  });

  test("a worker with a timeout shorter than the server's ping interval gets the needed interval", () => {
    const pings = [1, 2, 5, 6].map((silence) => {
      const { steps, warnings } = planGoSchedule(`silence_timeout: ${silence}`, "x");
      return [steps[0]?.hint, warnings.length];
    });
    expect(pings).toEqual([
      ["the server needs --go-schedule-ping 500ms", 1],
      ["the server needs --go-schedule-ping 1s", 1],
      ["the server needs --go-schedule-ping 2s", 1],
      [undefined, 0],
    ]);
  });

  const levels = { panic: "error", WARNING: "warn", Info: "info", trace: "debug", debug: "debug" };
  test("log levels become those of ours that show at least as much", () => {
    for (const [theirs, ours] of Object.entries(levels)) {
      const file = management(`basic_config: { log_level: ${theirs} }`);
      expect(stepOf(file, "basic_config.log_level")?.becomes).toBe(`--log-level ${ours}`);
    }
  });

  const kinds: readonly [string, string][] = [
    [MANAGEMENT, "management-node"],
    ["scheduler_algo: rr\nserver_address: a", "management-node"],
    [WORKER, "worker-node"],
    ["server_address: a\ndial_timeout: 5", "worker-node"],
    ["silence_timeout: 5", "worker-node"],
    [SCHEDCTL, "schedctl"],
    ["server_address: a", "schedctl"],
  ];
  test("the keys of a file decide its kind, whatever its name", () => {
    for (const [content, kind] of kinds) expect(planGoSchedule(content, "x").file).toBe(kind);
  });

  const wrong: readonly [string, string, string][] = [
    [
      "a ping that is rarer than the silence",
      management("ping_timer: 11\nsilence_timeout: 10"),
      "3:18: silence_timeout: must be longer than ping_timer, which is 11 here",
    ],
    [
      "a ping with no silence, which counts as 0",
      management("ping_timer: 1"),
      "ping_timer: must be shorter than silence_timeout, which is missing",
    ],
    [
      "a ping as rare as the silence",
      management("ping_timer: 10\nsilence_timeout: 10"),
      "silence_timeout: must be longer than ping_timer, which is 10 here",
    ],
    [
      "a silence shorter than the usual ping",
      management("silence_timeout: 3"),
      "2:18: silence_timeout: must be longer than ping_timer, which is 3 when it is missing",
    ],
    [
      "an unknown algorithm",
      "scheduler_algo: fair",
      '1:17: scheduler_algo: "fair" is not known to go-schedule either; there are rr and rand',
    ],
    ["no algorithm", "ping_timer: 1\nsilence_timeout: 2", "x.yaml: scheduler_algo is missing"],
    ["an algorithm without a value", "scheduler_algo:", "x.yaml: scheduler_algo is missing"],
    [
      "a time with a unit",
      management("dead_timeout: 10s"),
      '2:15: dead_timeout: "10s" is not a whole number of seconds from 1 to',
    ],
    ["no time", management("ping_timer: 0"), 'ping_timer: "0" is not a whole number of seconds'],
    ["a number that Go reads by eights", management("ping_timer: 010"), "write it like 10"],
    [
      "more than a year",
      management("dead_timeout: 99999999"),
      '"99999999" is not a whole number of seconds from 1 to 31622400',
    ],
    ["a time with a unit, of a worker", "silence_timeout: 10s", 'silence_timeout: "10s" is not'],
    [
      "a time with a unit, of schedctl",
      "connection_timeout: 1m",
      'connection_timeout: "1m" is not',
    ],
    [
      "an address without a port",
      management("listening_address: localhost"),
      '"localhost" is not an address with a port; write it like 127.0.0.1:1234',
    ],
    [
      "a level nobody has",
      "server_address: a\nbasic_config: { log_level: loud }",
      'basic_config.log_level: "loud" is not one of panic, fatal',
    ],
    ["a list for a text", management("etcd_address: [a]"), "2:15: etcd_address: must be a text"],
    ["a text for a map", "server_address: a\nbasic_config: b", "2:15: basic_config: must be a map"],
    ["a file of tasks", "tasks: [{cmd: a}]", "x.yaml: is not a file of go-schedule"],
    ["only what all files have", BASIC, "x.yaml: is not a file of go-schedule"],
    ["no map at all", "[]", "1:1: must be a map of keys and values"],
    ["no YAML", "a: [", "x.yaml:1:"],
    ["nothing", "", "x.yaml: is empty"],
    [
      "several documents",
      "a: 1\n---\nb: 2",
      "x.yaml: has several documents; go-schedule reads one",
    ],
  ];
  for (const [name, content, message] of wrong) {
    test(`rejects ${name}`, async () => {
      const { code, stdout, stderr } = await importing(content);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(message);
    });
  }

  test("each key of a file is listed once, in any order", () => {
    const always = ["scheduler_algo: rr", "listening_address: localhost:1", "silence_timeout: 10"];
    const others = ["ping_timer: 5", "etcd_address: a", "dead_timeout: 60", "colour: blue", "x:"];
    const lines = fc.shuffledSubarray(others).chain((some) => {
      const all = [...always, ...some];
      return fc.shuffledSubarray(all, { minLength: all.length });
    });
    fc.assert(
      fc.property(lines, (written) => {
        const { steps } = planGoSchedule(written.join("\n"), "x");
        const keys = written.map((line) => line.split(":")[0]);
        expect(steps).toHaveLength(keys.length);
        expect(new Set(steps.map(({ key }) => key))).toEqual(new Set(keys));
      }),
    );
  });
});
