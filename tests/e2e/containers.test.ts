import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { Site } from "../support/busbar.ts";
import {
  whyNoContainers,
  writeDockerArchive,
  writeImageLayout,
} from "../support/container-image.ts";

const why = await whyNoContainers();
if (why === undefined) describeContainers();
else describe("containers", () => test.skip(`cannot be started here: ${why}`, () => undefined));

function describeContainers(): void {
  const directory = mkdtempSync(join(tmpdir(), "busbar-images-"));
  const layout = writeImageLayout(join(directory, "layout"));
  const image = writeDockerArchive(layout, join(directory, "tool.tar"));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  let site: Site;
  afterEach(() => site.close());

  /** In its own mount namespace, after `prepare`. */
  async function startAgentAfter(prepare: string, name: string, ...flags: string[]): Promise<void> {
    const data = site.path(`agent-${name}`);
    mkdirSync(data);
    const agent = ["--server", site.server, "--name", name, "--data", data, ...flags];
    const busbar = new URL("../../busbar", import.meta.url).pathname;
    site.startProgram(
      ["--mount", "sh", "-c", `${prepare}; exec "$@"`, data, busbar, "agent", ...agent],
      { program: "unshare" },
    );
    await site.nodeIs(name, "connected");
  }

  test("run: output, exit code, variables and mounts; a script of a file of jobs", async () => {
    site = new Site();
    await site.startServer();
    await site.startAgent("a1", "--cpu", "4");
    const run = (...args: string[]) => site.run("run", "--image", image, ...args);
    expect(await run("--", "hostname")).toEqual({ code: 0, stdout: "busbar-1\n", stderr: "" });
    mkdirSync(site.path("out"));
    const outcome = await run(
      "--env",
      "WHO=me",
      "--mount",
      `${site.path("out")}:/out:rw`,
      "--cwd",
      "/etc",
      "--",
      "sh",
      "-c",
      'echo "$WHO $BUSBAR_NODE" >/out/said; pwd; exit 3',
    );
    expect(outcome).toMatchObject({ code: 3, stdout: "/etc\n" });
    expect(site.lines("out/said")).toEqual(["me a1"]);
    expect(await run("--", "nosuch")).toMatchObject({
      code: 127,
      stderr: expect.stringContaining("program not found in image: nosuch") as string,
    });
    writeFileSync(
      site.path("jobs.yaml"),
      `name: pod\ncontainers:\n` +
        `  - { name: a, image: "${image}", command: [sh, -c, "echo $X; sleep 1000"], env: { X: "1" } }\n` +
        `  - { name: b, image: "${layout}", command: [sh, -c, "sleep 1; echo end; exit 4"] }\n`,
    );
    const { jobs } = await site.json<{ jobs: { id: string }[] }>(
      "submit",
      "--file",
      site.path("jobs.yaml"),
    );
    const id = jobs[0]?.id ?? "";
    await site.jobIs(id, "failed");
    expect(await site.json("job", id)).toMatchObject({ exitCode: 4 });
    expect((await site.run("logs", id)).stdout.split("\n").toSorted().join(" ")).toBe(
      " a: 1 b: end",
    );
    const { stdout } = await site.run("nodes", "show", "a1");
    expect(stdout).toMatch(/^containers +runc \S+ \(.*root=\w+, .*starts=true\)$/m);
    expect((await site.run("extract", "--output", "json")).stdout).toMatch(/"starts":\s*true/);
  });

  test("an agent fails a task whose image is above its limit, and says how to raise it", async () => {
    site = new Site();
    await site.startServer();
    await site.startAgent("a1", "--image-limit", "100KiB");
    const { code, stderr } = await site.run("run", "--image", image, "--", "true");
    expect(code).toBe(127);
    expect(stderr).toMatch(/is too large: .*an image may have 100KiB.*raise --image-limit/);
  });

  test("kill -9 of the agent: the container continues, and its exit code is reported", async () => {
    site = new Site();
    await site.startServer();
    const agent = await site.startAgent("a1", "--cpu", "4");
    mkdirSync(site.path("shared"));
    const script = "echo begun >>/s/begun; while [ ! -e /s/go ]; do sleep 0.1; done; exit 7";
    const { jobs } = await site.json<{ jobs: { id: string }[] }>(
      "submit",
      "--image",
      image,
      "--mount",
      `${site.path("shared")}:/s:rw`,
      "--",
      "sh",
      "-c",
      script,
    );
    await eventually(() => existsSync(site.path("shared/begun")), { what: "the container" });
    await agent.end("SIGKILL");
    writeFileSync(site.path("shared/go"), "");
    await site.startAgent("a1", "--cpu", "4");
    await site.jobIs(jobs[0]?.id ?? "", "failed");
    expect(await site.json("job", jobs[0]?.id ?? "")).toMatchObject({ exitCode: 7 });
    expect(site.lines("shared/begun")).toEqual(["begun"]);
    const left = () => readdirSync(site.path("agent-a1/containers/states"));
    await eventually(() => left().length === 0, { what: "its state to go" });
  });

  test("cancel ends the container", async () => {
    site = new Site();
    await site.startServer();
    await site.startAgent("a1", "--cpu", "4");
    const { jobs } = await site.json<{ jobs: { id: string }[] }>(
      "submit",
      "--kill-grace",
      "10m",
      "--image",
      image,
      "--",
      "sh",
      "-c",
      "echo on; sleep 1000",
    );
    const id = jobs[0]?.id ?? "";
    await eventually(async () => (await site.run("logs", id)).stdout === "on\n", {
      what: "its start",
    });
    await site.run("cancel", id);
    await site.jobIs(id, "cancelled");
    const left = () => readdirSync(site.path("agent-a1/containers/states"));
    await eventually(() => left().length === 0, { what: "its state to go" });
  });

  test("without runc a job is rejected, or pending with the reason, until a node has it", async () => {
    site = new Site();
    await site.startServer();
    await startAgentAfter(
      "for f in $(command -v runc) /usr/sbin/runc; do mount --bind /dev/null $f; done",
      "bare",
      "--cpu",
      "4",
    );
    const submit = (...more: string[]) =>
      site.run("submit", "-q", ...more, "--image", image, "--", "hostname");
    const reason = "cannot start containers: there is no runc on this machine";
    await eventually(async () => (await submit()).stderr.includes(reason), { what: reason });
    const { code, stdout } = await submit("--allow-unsatisfiable");
    expect(code).toBe(0);
    const id = stdout.trim();
    expect((await site.run("explain", id)).stdout).toContain(reason);
    expect((await site.run("submit", "--dry-run", "--image", image, "--", "x")).stdout).toContain(
      reason,
    );
    await site.startAgent("full", "--cpu", "4");
    await site.jobIs(id, "succeeded");
    expect(await site.json("job", `${id}.0`)).toMatchObject({ node: "full" });
  });

  test("a node with a full disk returns the task, and another runs it", async () => {
    site = new Site();
    await site.startServer();
    await startAgentAfter('mount -t tmpfs -o size=2500k tmpfs "$0"', "small", "--cpu", "4");
    await eventually(
      async () => (await site.run("nodes", "show", "small")).stdout.includes("starts=true"),
      { what: "it to find out" },
    );
    const { stdout } = await site.run("submit", "-q", "--image", image, "--", "hostname");
    const id = stdout.trim();
    await eventually(
      async () => JSON.stringify(await site.json("job", `${id}.0`)).includes("no space left"),
      { what: "it to be given back" },
    );
    await site.startAgent("large", "--cpu", "4");
    await site.jobIs(id, "succeeded");
    expect(await site.json("job", `${id}.0`)).toMatchObject({ node: "large" });
  });
}
