import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rainbowPython } from "./support/rainbow-python.ts";
import { nodesJson, RainbowSite } from "./support/rainbow-site.ts";

// Releases of rainbow-scheduler from PyPI with older generations of the wire.
let site: RainbowSite;
beforeAll(async () => {
  site = new RainbowSite();
  await site.startRainbow();
  site.file("nodes.json", nodesJson(2, 4));
});
afterAll(() => site.close());

const UUID: unknown = expect.stringMatching(/^[0-9a-f-]{36}$/);
const HELLO = { content: { id: "hello" } };
const ANSWER = { request_id: "hello", processing_details: "processed successfully" };

for (const version of ["0.0.0", "0.0.1"]) {
  describe(`rainbow-scheduler ${version}`, () => {
    const cluster = `old-${version}`;
    let python: Awaited<ReturnType<typeof rainbowPython>>;
    beforeAll(async () => {
      python = await rainbowPython(version);
    }, 300_000);
    const call = (method: string, request: object) => python.stubs(site.rainbow, method, request);

    test("sends its first requests, registers by name alone and submits a command", async () => {
      expect((await call("Serial", HELLO)).returned).toEqual(ANSWER);
      expect((await call("Stream", [HELLO, HELLO])).returned).toEqual([
        { ...ANSWER, message_count: "1", messages_processed: "1" },
        { ...ANSWER, message_count: "2", messages_processed: "2" },
      ]);
      const request = { name: cluster, secret: site.registerSecret, sent: "2024-02-13T00:00:00Z" };
      const { returned } = await call("Register", request);
      const { token, secret, ...registered } = returned as Record<string, string>;
      expect(registered).toEqual({ status: "REGISTER_SUCCESS" });
      expect(token).toEqual(UUID);
      const { sent: _, ...nothingElse } = request;
      expect((await call("Register", nothingElse)).returned).toEqual({ status: "REGISTER_EXISTS" });
      expect((await call("Register", { name: "x" })).failed?.text).toBe("request denied");

      const job = { name: "hi", cluster, token, nodes: 2, tasks: 3, command: "echo 'a b'" };
      const submitted = await call("SubmitJob", job);
      expect(submitted.returned).toEqual({ jobid: expect.any(Number), status: "SUBMIT_SUCCESS" });
      expect((await call("SubmitJob", { ...job, token: "" })).failed).toEqual({
        code: "UNKNOWN",
        text: "a cluster token is required",
      });
      expect((await call("SubmitJob", { ...job, token: "no" })).failed?.text).toBe(
        "request denied",
      );

      // The very first release has no secret, and cannot receive.
      expect(secret !== undefined).toBe(version !== "0.0.0");
      if (secret === undefined) return;
      const { jobid } = submitted.returned as { jobid: number };
      const { returned: received } = await call("RequestJobs", { cluster, secret, maxJobs: 5 });
      const { jobs, status } = received as { jobs: Record<string, string>; status: string };
      expect([status, Object.keys(jobs)]).toEqual(["REQUEST_JOBS_SUCCESS", [String(jobid)]]);
      expect(JSON.parse(jobs[jobid] ?? "")).toEqual({
        id: jobid,
        cluster,
        name: "hi",
        nodes: 2,
        tasks: 3,
        command: "echo 'a b'",
        jobspec: expect.any(String),
      });
      const accept = (...jobids: number[]) => call("AcceptJobs", { cluster, secret, jobids });
      expect((await accept(jobid, 99)).returned).toEqual({ status: "RESULT_TYPE_PARTIAL" });
      expect((await accept(jobid)).returned).toEqual({ status: "RESULT_TYPE_PARTIAL" });
      expect((await call("RequestJobs", { cluster, secret })).returned).toEqual({});
      await site.jobIs(String(jobid), "accepted");
    });
  });
}

for (const version of ["0.0.12", "0.0.13"]) {
  describe(`rainbow-scheduler ${version}`, () => {
    test("registers, submits and receives", async () => {
      const python = await rainbowPython(version);
      const name = `middle-${version}`;
      const nodes = site.path("nodes.json");
      const registered = await python.client(site.config({ name }), "register", {
        cluster: name,
        secret: site.registerSecret,
        cluster_nodes: nodes,
      });
      const { token = "", secret = "" } = registered.returned as Record<string, string>;
      const config = site.config({ name, secret }, [{ name, token }]);
      const submitted = await python.client(config, "submit_job", {
        command: "hostname -f",
        nodes: 1,
      });
      expect(submitted.returned).toEqual({ jobid: expect.any(Number), status: "SUBMIT_SUCCESS" });
      const { returned } = await python.client(config, "receive_jobs", { max_jobs: 2 });
      const { jobid } = submitted.returned as { jobid: number };
      expect(returned).toMatchObject([
        { id: jobid, cluster: name, command: "hostname -f", nodes: 1 },
      ]);
      await site.jobIs(String(jobid), "accepted");
      const none = await python.client(config, "submit_job", { command: "hostname", nodes: 3 });
      expect(none.printed).toContain("No clusters match the request");
    }, 300_000);
  });
}
