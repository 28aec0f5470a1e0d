import { describe, expect, test } from "vitest";
import { runHere } from "../testing/context.ts";

const started = async (line: string, readInput = async () => Buffer.from("{}")) =>
  (await runHere(line.split(" "), { readInput })).started;

describe("an agent of a whole cluster", () => {
  test("has its own name and defaults for the rest", async () => {
    const { started, stdout } = await runHere(
      "agent --server c:1 --cluster blue --executor process".split(" "),
    );
    expect(started).toMatchObject([
      {
        name: "blue-agent",
        cluster: "blue",
        data: "./busbar-agent-blue-agent",
        clusterAgent: {
          executor: "process",
          machine: "ada-s-laptop",
          take: { kind: "now" },
          refreshMs: 15_000,
          leaseMs: 0,
          onLost: "requeue",
          updatesGraph: false,
          schedulerArgs: [],
        },
      },
    ]);
    expect(stdout).toBe(
      "agent blue-agent of cluster blue (process) connects to c:1; stop it with Ctrl-C.\n",
    );
  });

  test("accepts all flags of it and its scheduler", async () => {
    const line =
      "agent --cluster blue --executor slurm --name b2 --take queue=50 --refresh 1m --cost 3.5 " +
      "--lease 10m --on-lost keep --graph g.json --update-graph --partition batch --account hep " +
      "--scheduler-arg --qos=low --scheduler-arg=--comment=x";
    expect(await started(line)).toMatchObject([
      {
        name: "b2",
        data: "./busbar-agent-b2",
        clusterAgent: {
          executor: "slurm",
          take: { kind: "queue", tasksMax: 50 },
          refreshMs: 60_000,
          costPerNodeHour: 3.5,
          leaseMs: 600_000,
          onLost: "keep",
          graph: "{}",
          updatesGraph: true,
          partition: "batch",
          account: "hep",
          schedulerArgs: ["--qos=low", "--comment=x"],
        },
      },
    ]);
  });

  test("one of another Busbar keeps its tasks by default", async () => {
    const line = "agent --cluster a --executor busbar --to 127.0.0.1:7071";
    expect(await started(line)).toMatchObject([
      {
        name: "a-agent",
        clusterAgent: {
          executor: "busbar",
          to: "127.0.0.1:7071",
          onLost: "keep",
          refreshMs: 2_000,
        },
      },
    ]);
    expect(await started(`${line} --on-lost fail`)).toMatchObject([
      { clusterAgent: { onLost: "fail" } },
    ]);
  });

  test("an agent of a node is not the agent of a cluster", async () => {
    const [flags] = await started("agent --cluster blue");
    expect(flags).toMatchObject({ name: "ada-s-laptop", cluster: "blue" });
    expect(flags).not.toHaveProperty("clusterAgent");
    expect(flags).not.toHaveProperty("loss");
  });

  test("an agent of a node sets what happens to its tasks when it is lost", async () => {
    const [flags] = await started("agent --on-lost keep --lost-after 2h");
    expect(flags).toMatchObject({ loss: { onLost: "keep", lostAfterMs: 7_200_000 } });
    const [far] = await started("agent --heartbeat 20s --silence 90s");
    expect(far).toMatchObject({ linkTimes: { heartbeatMs: 20_000, silenceMs: 90_000 } });
    const [one] = await started("agent --on-lost fail");
    expect(one).toHaveProperty("loss", { onLost: "fail" });
  });

  const refused: readonly [string, RegExp][] = [
    ["--executor process", /--cluster: must name the cluster of this agent/],
    ["--cluster b --executor pbs", /--executor: "pbs" is not one of process, slurm, flux/],
    ["--cluster b --take now", /--take: is for agents of a whole cluster/],
    ["--cluster b --update-graph", /--update-graph: is for agents of a whole/],
    ["--cluster b --partition p", /--partition: is for agents of a whole cluster/],
    [
      "--cluster b --executor process --partition p",
      /--partition: is for executors with a scheduler/,
    ],
    [
      "--cluster b --executor process --scheduler-arg x",
      /--scheduler-arg: is for executors with a scheduler/,
    ],
    ["--cluster b --executor process --take queue=3", /--take: the process executor has no queue/],
    ["--cluster b --executor slurm --cpu 2", /--cpu: cannot be combined with --executor slurm/],
    [
      "--cluster b --executor flux --launcher perl",
      /--launcher: cannot be combined with --executor flux/,
    ],
    ["--cluster b --executor busbar", /--to: is missing/],
    ["--cluster b --executor busbar --to x", /--to: "x" is not an address/],
    [
      "--cluster b --executor busbar --to a:1 --scheduler-arg x",
      /--scheduler-arg: cannot be combined with --executor busbar/,
    ],
    ["--cluster b --executor slurm --to a:1", /--to: is for --executor busbar/],
    ["--to a:1", /--to: is for agents of a whole cluster/],
    ["--cluster b --executor slurm --take queue=0", /--take: "queue=0" is neither now nor queue=N/],
    ["--cluster b --executor slurm --take all", /--take: "all" is neither now nor queue=N/],
    ["--cluster b --executor slurm --refresh 10ms", /--refresh: "10ms" is too short/],
    ["--cluster b --executor slurm --lease 10ms", /--lease: "10ms" is too short/],
    ["--cluster b --executor slurm --cost x", /--cost: "x" is not a number from 0/],
    [
      "--cluster b --executor slurm --on-lost wait",
      /--on-lost: "wait" is not one of requeue, keep/,
    ],
    ["--cluster b --executor slurm --graph missing.json", /no file missing.json/],
    [
      "--cluster b --executor slurm --lost-after 1h",
      /--lost-after: is for agents of nodes.*--lease/,
    ],
    [
      "--heartbeat 8s --silence 10s",
      /--silence: a silence of 10s is too short for a heartbeat of 8s/,
    ],
    [
      "--silence 2m --lost-after 90s",
      /--silence: the node would count as lost after 1m30s, before.*2m/,
    ],
    ["--heartbeat 10ms", /--heartbeat: a heartbeat of 10ms is not within 250ms and 10m/],
    ["--lost-after 10ms", /--lost-after: "10ms" is too short/],
    ["--on-lost wait", /--on-lost: "wait" is not one of requeue, keep, fail/],
  ];
  for (const [line, message] of refused) {
    test(`rejected: agent ${line}`, async () => {
      const { code, stderr, started } = await runHere(`agent ${line}`.split(" "));
      expect([code, started]).toEqual([2, []]);
      expect(stderr).toMatch(message);
    });
  }
});
