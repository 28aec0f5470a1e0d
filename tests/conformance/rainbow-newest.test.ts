import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rainbowPython, type RainbowPython } from "./support/rainbow-python.ts";
import { IO, nodesJson, RainbowSite } from "./support/rainbow-site.ts";

// rainbow-scheduler 0.0.16 from PyPI, unchanged, against a real server: each test continues where the one before has ended.
let site: RainbowSite;
let python: RainbowPython;
let config = "";
let secret = "";
const call = (method: string, args: object) => python.client(config, method, args);

beforeAll(async () => {
  python = await rainbowPython("0.0.16");
  site = new RainbowSite();
  await site.startRainbow();
  site.file("nodes.json", nodesJson(3, 4));
  config = site.config({ name: "keebler" });
}, 300_000);
afterAll(() => site.close());

interface Registered {
  readonly token: string;
  readonly secret: string;
  readonly status: string;
}

describe("rainbow-scheduler 0.0.16", () => {
  test("registers a cluster once", async () => {
    const args = { cluster: "keebler", cluster_nodes: site.path("nodes.json") };
    const wrong = await call("register", { ...args, secret: "chocolate-cookies" });
    expect(wrong.failed).toEqual({ code: "UNKNOWN", text: "request denied" });
    const register = () => call("register", { ...args, secret: site.registerSecret });
    const { returned } = await register();
    const registered = returned as Registered;
    expect(registered).toEqual({
      token: expect.stringMatching(/^[0-9a-f-]{36}$/),
      secret: expect.stringMatching(/^[0-9a-f-]{36}$/),
      status: "REGISTER_SUCCESS",
    });
    ({ secret } = registered);
    config = site.config({ name: "keebler", secret }, [
      { name: "keebler", token: registered.token },
    ]);
    expect((await register()).returned).toEqual({ status: "REGISTER_EXISTS" });
  });

  test("adds a subsystem, and sends a state as a dictionary and from a file", async () => {
    const io = site.file("io.json", IO);
    const add = () =>
      call("register_subsystem", { cluster: "keebler", subsystem: "io", secret, nodes: io });
    expect((await add()).returned).toEqual({ status: "REGISTER_SUCCESS" });
    expect((await add()).failed?.text).toBe("subsystem io already exists for cluster keebler");
    const tell = (state_data: unknown) =>
      call("update_state", { cluster: "keebler", secret, state_data });
    expect((await tell({ nodes_free: 2, zone: "a" })).returned).toEqual({
      status: "UPDATE_STATE_SUCCESS",
    });
    const file = site.file("state.json", { nodes_free: 3, "cost-per-hour": 0.5 });
    expect((await tell(file)).returned).toEqual({ status: "UPDATE_STATE_SUCCESS" });
    const { state } = await site.json<{ state: { key: string; value: unknown }[] }>(
      "cluster",
      "show",
      "keebler",
    );
    expect(Object.fromEntries(Object.values(state).map(({ key, value }) => [key, value]))).toEqual({
      nodes_free: 3,
      zone: "a",
      "cost-per-hour": 0.5,
    });
  });

  const totals = { total_matches: 1, total_mismatches: 0, total_clusters: 1 };

  test("submits a command and a jobspec", async () => {
    const command = await call("submit_job", {
      command: "echo 'hello \"world\"'",
      nodes: 2,
      tasks: 3,
    });
    expect(command.returned).toEqual({ clusters: [], cluster: "keebler", status: 1, ...totals });
    const spec = {
      version: 1,
      name: "ior",
      resources: {
        ior: {
          type: "node",
          replicas: 1,
          requires: [{ name: "io", field: "type", match: "shm" }],
          with: [{ type: "core", count: 2 }],
        },
      },
      tasks: [
        { name: "build", command: ["spack", "install", "ior"], resources: "ior" },
        { name: "run", command: ["ior", "-a"], resources: "ior", depends_on: ["build"] },
      ],
    };
    const jobspec = site.file("jobspec.yaml", spec);
    const submitted = await call("submit_jobspec", { jobspec, name: "twice" });
    expect(submitted.returned).toMatchObject({ cluster: "keebler", status: 1 });
    const jobs = await site.json<{ jobs: { id: string; spec: { name: string }; state: string }[] }>(
      "jobs",
    );
    expect(jobs.jobs.map(({ id, state }) => [id, state])).toEqual([
      ["2", "pending"],
      ["1", "pending"],
    ]);
    expect(jobs.jobs[0]?.spec.name).toBe("twice");
  });

  test("only asks, and learns that nothing matches", async () => {
    const asked = await call("submit_job", { command: "hostname", satisfy_only: true });
    expect(asked.returned).toEqual({ clusters: ["keebler"], cluster: "", status: 1, ...totals });
    const none = await call("submit_job", { command: "hostname", nodes: 4 });
    expect(none.printed).toContain("No clusters match the request");
    expect(none.returned).toEqual({
      status: "RESULT_TYPE_SUCCESS",
      total_clusters: 1,
      total_mismatches: 1,
    });
    const unknown = await call("submit_job", { command: "hostname", match_algo: "zzz" });
    expect(unknown.failed).toEqual({ code: "UNKNOWN", text: "did not find algorithm named zzz" });
    const select = await call("submit_job", { command: "hostname", select_algo: "zzz" });
    expect(select.failed).toEqual({ code: "UNKNOWN", text: "did not find algorithm named zzz" });
  });

  test("receives and accepts submitted jobs, also after a restart of the server", async () => {
    await site.stopRainbow();
    await site.startRainbow();
    const one = await call("receive_jobs", { max_jobs: 1 });
    expect(one.printed).toBe("Status: REQUEST_JOBS_SUCCESS\nReceived 1 jobs to accept...");
    expect(one.returned).toEqual([
      {
        id: 1,
        cluster: "keebler",
        name: expect.any(String),
        jobspec: expect.stringContaining("version: 1"),
        command: "echo 'hello \"world\"'",
        nodes: 2,
        tasks: 3,
      },
    ]);
    const rest = await call("receive_jobs", {});
    const [record] = rest.returned as { id: number; jobspec: string }[];
    expect(rest.returned).toMatchObject([{ id: 2, name: "twice", command: "" }]);
    expect(record?.jobspec).toContain("depends_on");
    expect((await call("receive_jobs", {})).printed).toBe("There are no jobs to receive.");
    const { jobs } = await site.json<{ jobs: { id: string; state: string }[] }>("jobs");
    expect(jobs.map(({ id, state }) => [id, state])).toEqual([
      ["2", "accepted"],
      ["1", "accepted"],
    ]);
  });

  test("gets an error for a wrong secret", async () => {
    const stranger = site.config({ name: "keebler", secret: "guess" });
    const { failed } = await python.client(stranger, "receive_jobs", {});
    expect(failed).toEqual({ code: "UNKNOWN", text: "request denied" });
  });
});
