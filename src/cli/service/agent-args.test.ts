import { expect, test } from "vitest";
import type { UpFlags } from "../context.ts";
import { runHere } from "../testing/context.ts";
import { agentArgs } from "./agent-args.ts";

const FLAGS =
  "--name m --launcher spawn --enforce memory,cpu --cgroup /g --keep-output 7,1MiB,2h --image-limit 3MiB --task-env A=1 --task-env B=a=b";

test("the agent of up gets the flags of up that are for it", async () => {
  const up = await runHere(["up", "--no-agent", ...FLAGS.split(" ")]);
  const [flags] = up.started as readonly UpFlags[];
  const beside = { server: "127.0.0.1:1", data: "/d/agent", logLevel: "warn" } as const;
  const { started } = await runHere(agentArgs(flags ?? expect.fail(), beside));
  expect(started).toMatchObject([
    {
      servers: ["127.0.0.1:1"],
      data: "/d/agent",
      name: "m",
      launcher: "spawn",
      enforce: ["memory", "cpu"],
      cgroup: "/g",
      keepOutput: { runsMax: 7, bytesMax: 2 ** 20, ageMsMax: 7_200_000 },
      imageLimit: 3 * 2 ** 20,
      taskEnv: { A: "1", B: "a=b" },
      exitWithParent: true,
      logLevel: "warn",
    },
  ]);
});
