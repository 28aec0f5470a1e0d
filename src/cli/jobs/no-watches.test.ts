import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startFakeServer } from "../testing/fake-server.ts";

const BUSBAR = fileURLToPath(new URL("../../../busbar", import.meta.url));

let server: Awaited<ReturnType<typeof startFakeServer>>;
beforeAll(async () => {
  server = await startFakeServer({ watches: false });
});
afterAll(() => server.close());

const busbar = (...args: readonly string[]) =>
  new Promise((resolve) => {
    const env = { ...process.env, BUSBAR_SERVER: server.address };
    execFile(BUSBAR, args, { env }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });

// The server rejects every watch: the commands poll the job instead.

test("run copies the output and exits as the job did", async () => {
  expect(await busbar("run", "--", "print", "hello")).toEqual({
    code: 0,
    stdout: "out: hello\n",
    stderr: "err: hello\n",
  });
  expect(await busbar("run", "fail", "3")).toMatchObject({ code: 3, stderr: "" });
});

test("run copies the output of a job that ends between two polls", async () => {
  const ran = await busbar("run", "late", "hello");
  expect(ran).toEqual({ code: 0, stdout: "out: hello\n", stderr: "err: hello\n" });
});

test("submit --wait shows how jobs end", async () => {
  expect(await busbar("submit", "--wait", "-q", "print")).toMatchObject({ code: 0, stderr: "" });
  expect(await busbar("submit", "--wait", "-q", "fail", "2")).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^busbar: job \d+ \(fail\) failed/),
  });
});

test("watch of a job prints its end", async () => {
  expect(await busbar("watch", "7", "-o", "json")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^\{.*"state":"failed".*\}\n$/),
  });
});
