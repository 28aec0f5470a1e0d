import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SPACK_JOBSPEC } from "../support/cluster-agents.ts";
import { rainbowPython, type RainbowPython } from "./support/rainbow-python.ts";
import { nodesJson, RainbowSite } from "./support/rainbow-site.ts";

// rainbow's own client registers and submits; Busbar's agent accepts and runs.
let site: RainbowSite;
let python: RainbowPython;
beforeAll(async () => {
  python = await rainbowPython("0.0.16");
  site = new RainbowSite();
  await site.startRainbow();
}, 300_000);
afterAll(() => site.close());

const program = (name: string, text: string): void => {
  writeFileSync(site.path(`bin/${name}`), `#!/bin/sh\n${text}\n`);
  chmodSync(site.path(`bin/${name}`), 0o755);
};

test("the agent of a cluster runs the jobs that rainbow's client submits", async () => {
  site.file("nodes.json", nodesJson(1, 10));
  const nodes = { cluster: "blue", cluster_nodes: site.path("nodes.json") };
  const first = site.config({ name: "blue" });
  const { returned } = await python.client(first, "register", {
    ...nodes,
    secret: site.registerSecret,
  });
  const { token, secret } = returned as { readonly token: string; readonly secret: string };
  const config = site.config({ name: "blue", secret }, [{ name: "blue", token }]);
  await python.client(config, "submit_job", { command: "echo hostname", nodes: 1 });
  const jobspec = site.file("jobspec-spack.yaml", SPACK_JOBSPEC);
  const submitted = await python.client(config, "submit_jobspec", { jobspec });
  expect(submitted.returned).toMatchObject({ cluster: "blue", status: 1 });

  mkdirSync(site.path("bin"));
  const order = `"${site.path("order")}"`;
  program("spack", `[ "$1" = install ] || exit 0\necho "spack $*" >>${order}`);
  program("ior", `echo "ior $*" >>${order}; echo measured`);
  const speaks = ["--cluster", "blue", "--executor", "process", "--cpu", "10"];
  const own = ["--server", site.server, "--data", site.path("agent")];
  const agent = site.start(["agent", ...speaks, ...own], {
    PATH: `${site.path("bin")}:${process.env["PATH"] ?? ""}`,
  });
  await agent.prints(/has another graph/); // rainbow's client registered it
  await site.jobIs("1", "succeeded");
  await site.jobIs("2", "succeeded");
  expect((await site.run("logs", "1")).stdout).toBe("hostname\n");
  expect((await site.run("logs", "2")).stdout).toBe("== build\n== ior\nmeasured\n");
  expect(readFileSync(site.path("order"), "utf8").split("\n")).toEqual([
    "spack install ior",
    "ior -b 10g -O summaryFormat=json",
    "",
  ]);
});
