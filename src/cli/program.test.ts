import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createProgram, declareAll } from "./program.ts";
import { nouns } from "./nouns.ts";
import { createShell } from "./session.ts";
import { runHere } from "./testing/context.ts";
import { startFakeServer } from "./testing/fake-server.ts";

describe("a wrong value names its flag and what would be right, and exits 2", () => {
  const cases: readonly [string, RegExp][] = [
    ["submit --cpu 0 x", /--cpu: "0" is not a number above 0/],
    ["submit --cpu -1 x", /--cpu/],
    ["submit --cpu 1e9 x", /--cpu: "1e9" is not a number/],
    ["submit --memory 4Gb x", /--memory: "4Gb" is not a size; write it like/],
    ["submit --gpu 1.5 x", /--gpu: "1.5" is not a whole number from 1/],
    ["submit --resource fpga x", /--resource: "fpga" is not of the form key=value/],
    ["submit --resource fpga=many x", /--resource: "many" is not a number above 0/],
    ["submit --label =v x", /--label: "=v" is not of the form key=value/],
    ["submit --env UNSET x", /--env: UNSET is not set here; write UNSET=value/],
    ["submit --env a-b=c x", /--env: "a-b" is not a variable's name/],
    ["submit --env BUSBAR_NODE=c x", /--env: BUSBAR_NODE: Busbar sets BUSBAR_ names itself/],
    ["agent --task-env BUSBAR_NODE=c", /--task-env: BUSBAR_NODE: Busbar sets/],
    ["submit --array 1- x", /--array: "1-" is not an array; write it like 0-99/],
    ["submit --priority 9999999 x", /--priority: .* from -1000000 to 1000000/],
    ["submit --retries -1 x", /--retries: "-1" is not a whole number from 0/],
    ["submit --retry-backoff 1s x", /--retry-backoff: needs --retries/],
    ["submit --time-limit 90 x", /--time-limit: "90" has no unit; write it like 90s/],
    ["submit --queue-deadline 9999d x", /--queue-deadline: "9999d" is longer than 366 days/],
    ["submit --deadline 9999d x", /--deadline: "9999d" is longer than 366 days/], // its name before
    ["submit --output-limit lots x", /--output-limit: "lots" is not a size/],
    ["submit --name= x", /--name: is empty/],
    ["submit --after-ok a,,b x", /--after-ok: is empty/],
    ["submit --after-at-least 2 x", /--after-at-least: needs jobs to choose from/],
    ["submit --after-at-least 0 --after a x", /--after-at-least: "0" is not a whole number from 1/],
    ["submit --singleton= x", /--singleton: is empty/],
    ["submit", /command: is missing; write it after --/],
    ["submit --script a.sh x", /--script: cannot be combined with a command/],
    ["submit --file a.yaml x", /--file: cannot be combined with a command/],
    ["submit --file a.yaml --time-limit 1s", /--time-limit: cannot be combined with --file/],
    ["submit --file missing.yaml", /no file missing.yaml/],
    ["submit --jobspec missing.yaml", /no file missing.yaml/],
    ["submit --jobspec a.yaml x", /--jobspec: cannot be combined with a command/],
    ["submit --jobspec a.yaml --cpu 2", /--cpu: cannot be combined with --jobspec; write it into/],
    ["submit --jobspec a.yaml --array 0-9", /--array: cannot be combined with --jobspec/],
    ["submit --jobspec a.yaml --env A=b", /--env: cannot be combined with --jobspec/],
    ["submit --jobspec a.yaml --script b", /--script: cannot be combined with --jobspec/],
    ["submit --jobspec a.yaml --time-limit 1s", /--time-limit: cannot be combined with --jobspec/],
    ["submit --jobspec a.yaml --after-ok b", /--after-ok: cannot be combined with --jobspec/],
    ["submit --jobspec a.yaml --file b", /--file: cannot be combined with --jobspec$/m],
    ["submit --jobspec - --select-options -", /only one thing can be read from standard input/],
    ["submit --file a.yaml --select first", /--select: cannot be combined with --file; write it/],
    [
      "submit --dry-run --wait x",
      /--wait: cannot be combined with --dry-run: nothing is submitted/,
    ],
    ["submit --dry-run --quiet x", /--quiet: cannot be combined with --dry-run/],
    ["submit --request [[{}]] --cpu 2 x", /--cpu: cannot be combined with --request; write it/],
    ["run --request [[{}]] --resource a=2 x", /--resource: cannot be combined with --request/],
    ["submit --request [[{}]] --require os:name x", /--require: cannot be combined with --request/],
    ["submit --request [[{}]] x", /--request\[0\]\[0\].type: must be a text/],
    ["submit --request [[{tpye:1}]] x", /--request\[0\]\[0\]: "tpye:1" is not known/],
    ["submit --request [[ x", /--request:1:3: /],
    ["submit --request missing.json x", /no file missing.json/],
    ["submit --require os x", /--require: "os" is not of the form subsystem:field=value/],
    ["run --select= x", /--select: is empty/],
    ["run --parameter x y", /--parameter: "x" is not of the form key=value/],
    ["run --select-options missing.yaml x", /no file missing.yaml/],
    ["server --select-options missing.yaml", /no file missing.yaml/],
    ["jobs --limit 0", /--limit: "0" is not a whole number from 1/],
    ["jobs --state runing", /--state: "runing" is none of .* \(did you mean running\?\)/],
    ["jobs --count --name x", /--name: cannot be combined with --count/],
    ["tasks 1 --state x", /--state: "x" is none of pending/],
    ["logs 1 --attempt x", /--attempt: "x" is not a whole number/],
    ["job 1.x", /<id>: "1.x" is not an id like 17 or 17.3/],
    ["watch --after -1", /--after/],
    ["groups set g --weight 0", /--weight: "0" is not a number above 0/],
    ["groups set g --running-tasks-max x", /--running-tasks-max/],
    ["nodes --state gone", /--state: "gone" is none of connected/],
    ["up --http 7070", /--http: "7070" is not an address with a port; write it like/],
    ["up --policy rr", /--policy: "rr" is none of spread, binpack, round-robin, random/],
    [
      "up --policy-seed 7",
      /--policy-seed: nothing is drawn with --policy spread; add --policy random/,
    ],
    ["up --policy random --policy-seed -1", /--policy-seed: "-1" is not a whole number from 0/],
    ["up --policy random --policy-seed 4294967296", /--policy-seed: .* from 0 to 4294967295/],
    ["up --node-lost-after 10ms", /--node-lost-after: "10ms" is too short/],
    ["up --log-level loud", /--log-level: "loud" is none of/],
    ["agent --name a/b", /--name: "a\/b" is not a name/],
    ["jobs --server http://x:1", /--server: "http:\/\/x:1" is a URL/],
    ["jobs --output yaml", /--output: "yaml" is not a format; write json or table/],
    ["completion tcsh", /<shell>: "tcsh" is none of bash, zsh, fish/],
    ["cancel", /missing required argument 'id'/],
    ["jbos", /unknown command 'jbos' \(Did you mean .*jobs/],
    ["jobs --stat x", /unknown option '--stat' \(Did you mean --state\?\)/],
    ["nodes drian x", /unknown command "drian"; did you mean drain\?/],
    ["nodes drain", /missing required argument 'name'/],
    ["server --silence 90s", /--silence: a node would be lost after 1m, before.*silence of 1m30s/],
    ["server --keepalive 10ms", /--keepalive: "10ms" is too short; at least 1s/],
    ["nodes set a", /nodes set: nothing to set; say --on-lost, --lost-after, or both/],
    ["nodes set a --on-lost wait", /--on-lost: "wait" is none of requeue, keep, fail, agent/],
    ["nodes set a --lost-after 5ms", /--lost-after: "5ms" is too short/],
    ["groups banana", /unknown command "banana"; there are set, remove/],
    ["stats extra", /too many arguments for 'stats'/],
    ["cluster register --graph g", /--name: is missing/],
    ["cluster register blue", /required option '--graph <file>' not specified/],
    ["cluster register blue --name red --graph g", /--name: "red" and "blue" are two names/],
    ["cluster register blue --graph missing.json", /no file missing.json/],
    ["cluster regster", /unknown command 'regster'.*\(Did you mean register\?\)/],
    ["subsystem add --cluster a", /<file>: is missing/],
    ["subsystem add a --file b", /--file: cannot be combined with a file as argument/],
    ["subsystem show", /missing required argument 'name'/],
    ["state set --cluster a", /key=value: is missing; write it like nodes_free=20/],
    ["state set --cluster a x", /key=value: "x" is not of the form key=value/],
    ["state set --cluster a --count-down x", /--count-down: "x" is not of the form key=nodes/],
    ["state set --cluster a --count-down x=core", /--count-down: "core" is none of nodes, slots/],
    ["state unset --cluster a", /missing required argument 'keys'/],
    ["satisfy", /missing required argument 'file'/],
    ["satisfy missing.yaml", /no file missing.yaml/],
    ["satisfy a --parameter x", /--parameter: "x" is not of the form key=value/],
  ];
  for (const [line, want] of cases) {
    test(line, async () => {
      const words = line.split(" ");
      const text = await runHere(words);
      expect(text.stderr).toMatch(want);
      expect([text.code, text.stdout]).toEqual([2, ""]);
      expect(text.stderr.trimEnd()).not.toContain("\n");
      if (line.includes("--output")) return;
      const json = await runHere(["--output", "json", ...words]);
      expect([json.code, json.stderr]).toEqual([2, ""]);
      const { error } = JSON.parse(json.stdout) as { error: { code: string; message: string } };
      expect(error.code).toBe("invalid_argument");
      expect(error.message).toMatch(want);
    });
  }

  test("a wrong BUSBAR_SERVER is named like a flag", async () => {
    const { code, stderr } = await runHere(["jobs"], { env: { BUSBAR_SERVER: "x" } });
    expect([code, stderr.includes("BUSBAR_SERVER: ")]).toEqual([2, true]);
  });
});

describe("help", () => {
  test("is printed to stdout when asked for, for every command", async () => {
    for (const argv of [["--help"], ["help"], ...nouns.map(({ name }) => ["help", name])]) {
      const { code, stdout, stderr } = await runHere(argv);
      expect([argv, code, stderr]).toEqual([argv, 0, ""]);
      expect(stdout).toContain("Usage: busbar");
    }
  });

  test("of every command has the global flags once and its own summary", async () => {
    for (const { name, summary } of nouns) {
      const { stdout } = await runHere([name, "--help"]);
      expect(stdout).toContain(summary);
      expect(stdout.match(/--server <address>/g)).toHaveLength(1);
    }
  });

  test("goes to stderr with exit 2 when no command was given", async () => {
    const { code, stdout, stderr } = await runHere([]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("Usage: busbar");
  });

  test("no flag is declared twice in one command", async () => {
    const shell = createShell({} as never, { exitCode: 0, format: undefined });
    const context = { env: {}, hostname: "x" } as never;
    const quiet = { writeOut() {}, writeErr() {}, width: undefined };
    const program = createProgram({ ...shell, context }, quiet);
    await declareAll(program, { ...shell, context });
    for (const command of program.commands.flatMap((each) => [each, ...each.commands])) {
      const names = command.options.map((option) => option.long);
      expect(new Set(names).size).toBe(names.length);
    }
  });
});

describe("services", () => {
  test("up has defaults for everything and tells where it listens", async () => {
    const { code, stdout, started } = await runHere(["up"]);
    expect(code).toBe(0);
    expect(started).toEqual([
      {
        data: "./busbar-data",
        http: "127.0.0.1:7070",
        grpc: "127.0.0.1:7071",
        nodeLostAfter: 60_000,
        keepEnded: 1_000_000,
        keepEndedFor: 7 * 24 * 3_600_000,
        quarantineAfter: 5,
        quarantineQuick: 1_000,
        quarantineFor: 30_000,
        policy: "spread",
        name: "ada-s-laptop",
        agent: true,
        launcher: "native",
        enforce: "available",
        taskEnv: {},
      },
    ]);
    expect(stdout).toContain("./busbar run -- echo hello");
    expect(stdout).toContain("http://127.0.0.1:7070/docs");
  });

  test("server and up take a policy, and a seed for the one that draws", async () => {
    const given = async (line: string) => (await runHere(line.split(" "))).started;
    expect(await given("server --policy round-robin")).toMatchObject([{ policy: "round-robin" }]);
    const [drawing] = await given("up --policy random --policy-seed 0");
    expect(drawing).toMatchObject({ policy: "random", policySeed: 0 });
    expect((await given("up --policy random"))[0]).not.toHaveProperty("policySeed");
  });

  test("server and up take a strategy, with its options from a file", async () => {
    const readInput = async () => Buffer.from("- priority: 1\n  steps: [{ select: first }]\n");
    const rules = { priorities: [{ priority: 1, steps: [{ select: "first" }] }] };
    const given = async (line: string) => (await runHere(line.split(" "), { readInput })).started;
    expect(await given("server --select cheapest")).toMatchObject([
      { select: { strategy: "cheapest", options: {} } },
    ]);
    const [started] = await given("up --select-options r.yaml");
    expect(started).toMatchObject({ select: { strategy: "constraint", options: rules } });
    expect(started).not.toHaveProperty("selectOptions");
  });

  test("beyond loopback nothing is served without --insecure-listen", async () => {
    for (const flag of ["--http", "--grpc"]) {
      for (const at of ["0.0.0.0:9", "[::]:9", "10.0.0.5:9", "somewhere:9"]) {
        const refused = await runHere(["server", flag, at]);
        expect(refused.started).toEqual([]);
        expect(refused.stderr).toContain(`${flag}: at ${at} others could run any command here`);
        expect(refused.stderr).toContain("--insecure-listen");
        const allowed = await runHere(["up", flag, at, "--insecure-listen"]);
        expect(allowed.started).toMatchObject([{ insecureListen: true }]);
        expect(allowed.stdout).toContain("WARNING: whoever can reach these ports");
      }
      expect((await runHere(["server", flag, "localhost:9"])).code).toBe(0);
    }
    const { started } = await runHere(["server", "--host-name", "a.b", "--host-name", "10.0.0.5"]);
    expect(started).toMatchObject([{ hostName: ["a.b", "10.0.0.5"] }]);
    const wrong = await runHere(["server", "--host-name", "a:1/"]);
    expect(wrong.stderr).toContain("--host-name: ");
  });

  test("rainbow's clients get a port, with TLS or where nobody else listens", async () => {
    const given = async (line: string) => {
      const { code, started, stderr } = await runHere(line.split(" "));
      return code === 0 ? (started[0] as { rainbow?: unknown }).rainbow : stderr;
    };
    const usual = { address: "127.0.0.1:50051", allowsPlaintext: true };
    expect(await given("server")).toBeUndefined();
    expect(await given("up --rainbow")).toEqual(usual);
    expect(await given("server --rainbow [::1]:9")).toEqual({ ...usual, address: "[::1]:9" });
    const open = "server --rainbow 0.0.0.0:9";
    expect(await given(open)).toContain("or allow it with --rainbow-plaintext");
    expect(await given(`${open} --rainbow-plaintext`)).toEqual({ ...usual, address: "0.0.0.0:9" });
    expect(await given(`${open} --rainbow-cert c --rainbow-key k --rainbow-ca a`)).toEqual({
      address: "0.0.0.0:9",
      allowsPlaintext: false,
      tls: { cert: "c", key: "k", ca: "a" },
    });
    expect(await given(`${open} --rainbow-cert c`)).toContain(
      "--rainbow-cert: needs --rainbow-key",
    );
    expect(await given(`${open} --rainbow-key k`)).toContain("--rainbow-key: needs --rainbow-cert");
    expect(await given("up --rainbow --rainbow-ca a")).toContain("--rainbow-ca: needs");
    expect(await given("up --rainbow-plaintext")).toContain(
      "--rainbow-plaintext: is about --rainbow",
    );
  });

  describe("go-schedule", () => {
    const given = async (line: string) => {
      const { code, started, stderr } = await runHere(line.split(" "));
      return code === 0 ? (started[0] as { goSchedule?: unknown }).goSchedule : stderr;
    };
    const usual = {
      address: "127.0.0.1:1234",
      allowsPlaintext: true,
      isInsecure: false,
      pingMs: 3_000,
      silenceMs: 10_000,
    };
    const open = "server --go-schedule 0.0.0.0:9";
    const files = "--go-schedule-cert c --go-schedule-key k";

    test("is served where it is asked for, and nowhere else", async () => {
      expect(await given("server")).toBeUndefined();
      expect(await given("up --go-schedule")).toEqual(usual);
      expect(await given("up --go-schedule [::1]:9")).toEqual({ ...usual, address: "[::1]:9" });
      const times = "--go-schedule-ping 1s --go-schedule-silence 2s --go-schedule-time-limit 1m";
      const set = { pingMs: 1_000, silenceMs: 2_000, timeLimitMs: 60_000 };
      expect(await given(`server --go-schedule ${times}`)).toEqual({ ...usual, ...set });
      const { started } = await runHere(["server", "--go-schedule", "--go-schedule-ping", "1s"]);
      expect(Object.keys(started[0] ?? {})).not.toContain("goSchedulePing");
    });

    test("needs certificates of both sides where others can reach it", async () => {
      const why = "or allow it with --go-schedule-insecure";
      expect(await given(open)).toContain(why);
      expect(await given(`${open} ${files}`)).toContain(why);
      expect(await given(`${open} ${files} --go-schedule-ca a`)).toEqual({
        ...usual,
        address: "0.0.0.0:9",
        allowsPlaintext: false,
        tls: { cert: "c", key: "k", ca: "a" },
      });
      expect(await given(`${open} --go-schedule-insecure`)).toEqual({
        ...usual,
        address: "0.0.0.0:9",
        isInsecure: true,
      });
    });

    const refusals: readonly [string, string][] = [
      [`${open} --go-schedule-cert c`, "--go-schedule-cert: needs --go-schedule-key"],
      ["up --go-schedule-insecure", "--go-schedule-insecure: is about --go-schedule, which"],
      ["up --go-schedule-ping 1s", "--go-schedule-ping: is about --go-schedule, which"],
      ["up --go-schedule --go-schedule-ping 10s", "--go-schedule-silence: 10s is too short"],
      ["up --go-schedule --go-schedule-ping 0s", '--go-schedule-ping: "0s" is too short'],
    ];
    for (const [line, text] of refusals) {
      test(`${line} is refused`, async () => expect(await given(line)).toContain(text));
    }
  });

  test("up --output json tells it as one value", async () => {
    const { stdout } = await runHere(["up", "--no-agent", "-o", "json"]);
    expect(JSON.parse(stdout)).toMatchObject({ grpc: "127.0.0.1:7071" });
  });

  test("agent looks at its machine unless it is told not to", async () => {
    const { started } = await runHere(["agent", "--no-discovery"]);
    expect(started).toMatchObject([{ discovery: false }]);
  });

  test("agent collects what it offers", async () => {
    const line =
      "agent --server c:1 --name w --cpu 2 --memory 1GiB --resource fpga=2 --resource power=5 --label a=b --label c= --task-env A=1 --task-env B=2";
    const { started } = await runHere(line.split(" "));
    expect(started).toEqual([
      {
        servers: ["c:1"],
        name: "w",
        cluster: "default",
        data: "./busbar-agent-w",
        resources: { cpu: 2, memory: 1_073_741_824, fpga: 2, power: 5 },
        labels: { a: "b", c: "" },
        launcher: "native",
        enforce: "available",
        taskEnv: { A: "1", B: "2" },
        discovery: true,
        exitWithParent: false,
      },
    ]);
  });
});

describe("global flags", () => {
  let server: Awaited<ReturnType<typeof startFakeServer>>;
  beforeAll(async () => {
    server = await startFakeServer();
  });
  afterAll(() => server.close());

  test("may stand before and after the command; the nearer one wins", async () => {
    for (const argv of [
      ["--server", server.address, "clusters"],
      ["clusters", "--server", server.address],
      ["--server", "127.0.0.1:1", "clusters", "--server", server.address],
    ]) {
      expect(await runHere(argv)).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^NAME +KIND/),
      });
    }
  });

  test("BUSBAR_SERVER is used without a flag", async () => {
    const env = { BUSBAR_SERVER: server.address };
    expect(await runHere(["clusters"], { env })).toMatchObject({ code: 0 });
  });

  test("every reading command prints text, or exactly one JSON value", async () => {
    const lines = ["job 7", "jobs --count", "tasks 7", "explain 7", "nodes", "nodes show a"];
    for (const line of [...lines, "groups", "clusters", "stats", "version", "nodes drain a"]) {
      const argv = ["--server", server.address, ...line.split(" ")];
      const json = await runHere([...argv, "--output", "json"]);
      expect([line, json.code, json.stderr]).toEqual([line, 0, ""]);
      expect(() => JSON.parse(json.stdout) as unknown).not.toThrow();
      const text = await runHere(argv);
      expect([line, text.code, text.stderr]).toEqual([line, 0, ""]);
      expect(text.stdout).toMatch(/^[^{].*\n$/s);
    }
  });

  test("nodes set says what holds now", async () => {
    const set = async (...flags: string[]) =>
      (await runHere(["--server", server.address, "nodes", "set", "a", ...flags])).stdout;
    expect(await set("--on-lost", "keep", "--lost-after", "2h")).toBe(
      "node a is connected; when lost after 2h: keep\n",
    );
    expect(await set("--lost-after", "agent")).toBe("node a is connected\n");
  });

  test("a server's refusal is exit 1, and its field is kept", async () => {
    const argv = ["--server", server.address, "-o", "json", "submit", "--name", "refused", "x"];
    const { code, stdout } = await runHere(argv);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      error: { code: "invalid_argument", message: "name: is not allowed", field: "name" },
    });
  });
});
