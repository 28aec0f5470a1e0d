import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { StandIn } from "../contract/executor/flux-bed.ts";
import { makeStandIn } from "../contract/executor/flux-bed.ts";
import { ClusterSite, SPACK_JOBSPEC } from "../support/cluster-agents.ts";

/** Two nodes of eight cores, in Flux's format. */
const R = {
  version: 1,
  execution: { R_lite: [{ rank: "0-1", children: { core: "0-7" } }], nodelist: ["green[0-1]"] },
};

// A stand-in that answers like Flux: with resources, and jobs that really run.
let flux: StandIn;
let site: ClusterSite;
beforeEach(() => {
  flux = makeStandIn();
  const home = flux.env["FLUX_STAND_IN"] ?? "";
  writeFileSync(join(home, "R"), JSON.stringify(R));
  writeFileSync(join(home, "resources"), "free|16|0|0-1\n");
  site = new ClusterSite(flux.env);
});
afterEach(async () => {
  flux.dispose();
  await site.close();
});

test("the agent of a Flux cluster registers it, runs commands and jobspecs there", async () => {
  const file = `"${site.path("order")}"`;
  site.program("spack", `[ "$1" = install ] || exit 0\necho built >>${file}`);
  site.program("ior", `grep -q built ${file} && echo measured`);
  await site.startServer();
  await site.speakFor("green", { executor: "flux" }, "--no-discovery");
  const cluster = await site.json("cluster", "show", "green");
  expect(cluster).toMatchObject({
    kind: "pulling",
    vertices: { node: 2, core: 16, memory: 2 * 16 * 1024 ** 3 },
    agents: [{ name: "green-agent", state: "connected" }],
  });

  const failed = await site.submit("--cluster", "green", "--", "sh", "-c", "echo out; exit 7");
  await site.jobIs(failed, "failed");
  expect(await site.json("job", `${failed}.0`)).toMatchObject({ exitCode: 7, attempt: 1 });
  expect((await site.run("logs", failed)).stdout).toBe("out\n");

  const small = await site.submit("--cluster", "green", "--memory", "1GiB", "--", "true");
  await site.jobIs(small, "succeeded");
  const large = await site.run("submit", "--cluster", "green", "--memory", "17GiB", "--", "true");
  expect(large.stderr).toContain(`2 nodes have ${16 * 1024 ** 3} B memory`);

  const id = await site.submitWhole("green", SPACK_JOBSPEC);
  await site.jobIs(id, "succeeded");
  expect((await site.run("logs", id)).stdout).toBe("== build\n== ior\nmeasured\n");
});
