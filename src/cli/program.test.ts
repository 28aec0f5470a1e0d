import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createProgram, declareAll } from "./program.ts";
import { nouns } from "./nouns.ts";
import { createShell } from "./session.ts";
import { runHere } from "./testing/context.ts";
import { startFakeServer } from "./testing/fake-server.ts";

describe("help", () => {
  test("is printed to stdout on request, for every command", async () => {
    const beside = ["-o", "json", "help", "jobs"];
    for (const argv of [["--help"], ["help"], beside, ...nouns.map(({ name }) => ["help", name])]) {
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

  test("is one JSON value instead, where the command is missing in a program that reads JSON", async () => {
    for (const argv of [[], ["cluster"]]) {
      const { code, stdout, stderr } = await runHere(["-o", "json", ...argv]);
      expect([argv, code, stderr]).toEqual([argv, 2, ""]);
      expect(JSON.parse(stdout)).toEqual({
        error: { code: "invalid_argument", message: "a command is missing; --help lists them" },
      });
    }
  });

  test("no flag is declared twice in one command", async () => {
    const shell = createShell({} as never, { exitCode: 0, output: undefined });
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
  test("up has defaults for everything and prints its addresses", async () => {
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

  test("server and up accept a policy, and a seed for the random one", async () => {
    const given = async (line: string) => (await runHere(line.split(" "))).started;
    expect(await given("server --policy round-robin")).toMatchObject([{ policy: "round-robin" }]);
    const [drawing] = await given("up --policy random --policy-seed 0");
    expect(drawing).toMatchObject({ policy: "random", policySeed: 0 });
    expect((await given("up --policy random"))[0]).not.toHaveProperty("policySeed");
  });

  test("server and up accept a strategy, with its options from a file", async () => {
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
        expect(refused.stderr).toContain(`${flag}: at ${at} other machines could run any command`);
        expect(refused.stderr).toContain("--insecure-listen");
        const allowed = await runHere(["up", flag, at, "--insecure-listen"]);
        expect(allowed.started).toMatchObject([{ insecureListen: true }]);
        expect(allowed.stdout).toContain("WARNING: every client that can reach these ports");
      }
      expect((await runHere(["server", flag, "localhost:9"])).code).toBe(0);
    }
    const { started } = await runHere(["server", "--host-name", "a.b", "--host-name", "10.0.0.5"]);
    expect(started).toMatchObject([{ hostName: ["a.b", "10.0.0.5"] }]);
    const wrong = await runHere(["server", "--host-name", "a:1/"]);
    expect(wrong.stderr).toContain("--host-name: ");
  });

  test("rainbow's clients get a port, with TLS or on loopback only", async () => {
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

    test("is served on request only", async () => {
      expect(await given("server")).toBeUndefined();
      expect(await given("up --go-schedule")).toEqual(usual);
      expect(await given("up --go-schedule [::1]:9")).toEqual({ ...usual, address: "[::1]:9" });
      const times = "--go-schedule-ping 1s --go-schedule-silence 2s --go-schedule-time-limit 1m";
      const set = { pingMs: 1_000, silenceMs: 2_000, timeLimitMs: 60_000 };
      expect(await given(`server --go-schedule ${times}`)).toEqual({ ...usual, ...set });
      const { started } = await runHere(["server", "--go-schedule", "--go-schedule-ping", "1s"]);
      expect(Object.keys(started[0] ?? {})).not.toContain("goSchedulePing");
    });

    test("needs certificates of both sides where other machines can reach it", async () => {
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
      test(`${line} is rejected`, async () => expect(await given(line)).toContain(text));
    }
  });

  test("up --output json prints it as one value", async () => {
    const { stdout } = await runHere(["up", "--no-agent", "-o", "json"]);
    expect(JSON.parse(stdout)).toMatchObject({ grpc: "127.0.0.1:7071" });
  });

  test("agent discovers its machine unless a flag turns that off", async () => {
    const { started } = await runHere(["agent", "--no-discovery"]);
    expect(started).toMatchObject([{ discovery: false }]);
  });

  test("agent collects the resources that it offers", async () => {
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

  test("may be before and after the command; the nearer one wins", async () => {
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
    const ofServices = ["services", "services web", "scale web 2", "services rollback web"];
    for (const line of [
      ...lines,
      ...ofServices,
      "groups",
      "clusters",
      "stats",
      "version",
      "nodes drain a",
    ]) {
      const argv = ["--server", server.address, ...line.split(" ")];
      const json = await runHere([...argv, "--output", "json"]);
      expect([line, json.code, json.stderr]).toEqual([line, 0, ""]);
      expect(() => JSON.parse(json.stdout) as unknown).not.toThrow();
      const text = await runHere(argv);
      expect([line, text.code, text.stderr]).toEqual([line, 0, ""]);
      expect(text.stdout).toMatch(/^[^{].*\n$/s);
    }
  });

  test("nodes set prints the present settings", async () => {
    const set = async (...flags: string[]) =>
      (await runHere(["--server", server.address, "nodes", "set", "a", ...flags])).stdout;
    expect(await set("--on-lost", "keep", "--lost-after", "2h")).toBe(
      "node a is connected; when lost after 2h: keep\n",
    );
    expect(await set("--lost-after", "agent")).toBe("node a is connected\n");
  });

  test("a server's rejection is exit 1, with its field", async () => {
    const argv = ["--server", server.address, "-o", "json", "submit", "--name", "refused", "x"];
    const { code, stdout } = await runHere(argv);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      error: { code: "invalid_argument", message: "--name: is not allowed", field: "--name" },
    });
  });
});
