import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { NexusSite } from "./support/nexus.ts";

// kubectl as people have it: that of the machine, or version 1.32 built from its own module.
let site: NexusSite;
beforeAll(async () => {
  site = new NexusSite();
  await site.startNexus();
  await site.startAgent("w1");
  await site.kubectl("version");
}, 600_000);
afterAll(() => site.close());

function file(name: string, text: string): string {
  const path = site.path(name);
  writeFileSync(path, text);
  return path;
}

const rows = (text: string): string[][] =>
  text
    .trim()
    .split("\n")
    .map((line) => line.split(/\s{2,}/));

const submit = async (...args: string[]): Promise<string> => {
  const { jobs } = await site.json<{ jobs: { id: string }[] }>("submit", ...args);
  return jobs[0]?.id ?? "none";
};

test("api-resources lists the twelve kinds, and statistics where the README has them", async () => {
  const kinds = rows(await site.kubectl("api-resources", "--no-headers")).map((row) => row.at(-1));
  expect(new Set(kinds).size).toBe(13); // and events
  expect(kinds.filter((kind) => kind === "SchedulerConfig")).toHaveLength(2);
});

test("get shows a table, wide, YAML, JSON paths and selections", async () => {
  const id = await submit("--name", "report", "--", "true");
  await site.jobIs(id, "succeeded");
  const [head, row] = rows(await site.kubectl("get", "jobs.jobscheduler.intel.com"));
  expect(head).toEqual(["NAME", "GROUP", "STATE", "PERCENT", "POWER", "AGE"]);
  expect(row?.slice(0, 5)).toEqual([`report.${id}`, "default", "Done", "100", "0"]);
  expect(rows(await site.kubectl("get", "jobs", "-o", "wide"))[0]).toContain("HASH");
  expect(await site.kubectl("get", "edges.edge.intel.com", "-o", "yaml")).toContain("powerInfo:");
  const path = "jsonpath={.items[*].status.state.percentCompleted}";
  expect(await site.kubectl("get", "jobs", "-o", path)).toBe("100");
  const label = `nexus/display_name=report.${id}`;
  expect(rows(await site.kubectl("get", "jobs", "-l", label, "--no-headers"))).toHaveLength(1);
  const none = await site.kubectl("get", "jobs", "--field-selector", "metadata.name=other");
  expect(none).toBe("");
  const stats = await site.kubectl("get", "schedulerconfigs.jobscheduler.intel.com", "-o", "yaml");
  expect(stats).toMatch(/totalJobsProcessed: 1/);
});

test("describe, explain and raw documents work", async () => {
  const id = await submit("--name", "told", "--", "true");
  await site.jobIs(id, "succeeded");
  const told = await site.kubectl("describe", "jobs", `told.${id}`);
  expect(told).toMatch(/Percent Completed: +100/);
  expect(told).toMatch(/Normal +Submitted/);
  const spec = await site.kubectl(
    "explain",
    "jobs.spec",
    "--api-version=jobscheduler.intel.com/v1",
  );
  expect(spec).toContain("powerNeeded\t<integer>");
  expect(await site.kubectl("get", "--raw", "/metrics")).toContain("busbar_ready 1");
});

test("apply creates, leaves unchanged and changes; it reports unknown fields", async () => {
  const group = (tier: string): string =>
    `apiVersion: jobgroup.intel.com/v1\nkind: Jobgroup\nmetadata:\n  name: night\n  labels: {tier: ${tier}}\n`;
  expect(await site.kubectl("apply", "-f", file("a.yaml", group("bronze")))).toContain("created");
  expect(await site.kubectl("apply", "-f", file("a.yaml", group("bronze")))).toContain("unchanged");
  expect(await site.kubectl("apply", "-f", file("a.yaml", group("silver")))).toContain(
    "configured",
  );
  await site.kubectl("edit", "jobgroups", "night");
  const path = "jsonpath={.metadata.labels.tier}";
  expect(await site.kubectl("get", "jobgroups", "night", "-o", path)).toBe("gold");
  const wrong = file("b.yaml", `${group("x").replace("night", "other")}spec: {wrong: 1}\n`);
  const refused = await site.tryKubectl("create", "-f", wrong);
  expect(refused.stderr).toContain('unknown field "spec.wrong"');
  const applied = await site.tryKubectl("apply", "--server-side", "-f", site.path("a.yaml"));
  expect(applied.stderr).toContain("server-side apply is not supported; use kubectl apply without");
  const unknown = file("c.yaml", group("x").replace("kind: Jobgroup", "kind: Jobgroops"));
  expect((await site.tryKubectl("create", "-f", unknown)).stderr).toContain(
    'no matches for kind "Jobgroops" in version "jobgroup.intel.com/v1"',
  );
  const dry = await site.kubectl(
    "create",
    "--dry-run=server",
    "-f",
    file("d.yaml", group("x").replace("night", "dawn")),
  );
  expect(dry).toBe("jobgroup.jobgroup.intel.com/dawn created (server dry run)\n");
});

test("label, annotate and patch change the named objects, and a watch shows it", async () => {
  const id = await submit("--name", "long", "--", "sleep", "1000");
  const name = `long.${id}`;
  const watch = await site.startKubectl("get", "jobs", "-w", "-o", "name", "-l", "mark=set");
  await site.kubectl("label", "jobs", name, "tier=gold");
  await site.kubectl("annotate", "jobs", name, "why=because");
  const merge = '{"metadata":{"labels":{"tier":null,"mark":"set"}}}';
  await site.kubectl("patch", "jobs", name, "--type=merge", "-p", merge);
  await watch.prints(/job\.jobscheduler\.intel\.com\/[0-9a-f]{40}/);
  await watch.end("SIGTERM");
  const spec = '{"spec":{"powerNeeded":5}}';
  const changed = await site.tryKubectl("patch", "jobs", name, "--type=merge", "-p", spec);
  expect(changed.stderr).toContain(`The Job "${name}" is invalid: spec.powerNeeded: cannot be`);
  const strategic = await site.tryKubectl("patch", "jobs", name, "-p", merge);
  expect(strategic.stderr).toContain("use --type=merge or --type=json");
  const shown = await site.kubectl("get", "jobs", name, "-o", "jsonpath={.metadata.labels}");
  expect(JSON.parse(shown)).toMatchObject({ mark: "set" });
  expect(JSON.parse(shown)).not.toHaveProperty("tier");
});

test("wait waits for a field, and delete until the object is removed", async () => {
  const go = site.path("go");
  const id = await submit(
    "--name",
    "soon",
    "--",
    "sh",
    "-c",
    `until test -e ${go}; do sleep 0.1; done`,
  );
  const name = `jobs/soon.${id}`;
  const path = "--for=jsonpath={.status.state.percentCompleted}=100";
  const waiting = site.kubectl("wait", name, path, "--timeout=60s");
  writeFileSync(go, "");
  expect(await waiting).toContain("condition met");
  const other = await submit("--name", "doomed", "--", "sleep", "1000");
  await site.jobIs(other, "running");
  expect(await site.kubectl("delete", "jobs", `doomed.${other}`)).toContain("deleted");
  await site.jobIs(other, "cancelled");
  const { stderr } = await site.tryKubectl("get", "jobs", `doomed.${other}`);
  expect(stderr).toContain("NotFound");
});
