import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startFakeServer } from "../testing/fake-server.ts";
import { runHere } from "../testing/context.ts";

let server: Awaited<ReturnType<typeof startFakeServer>>;
beforeAll(async () => {
  server = await startFakeServer();
});
afterAll(() => server.close());

/** The content of every file. */
let file = "";
const readInput = async () => Buffer.from(file);

const run = (...words: string[]) => runHere(["--server", server.address, ...words], { readInput });
const json = async (...words: string[]): Promise<unknown> => {
  const { code, stdout, stderr } = await run("--output", "json", ...words);
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as unknown;
};

describe("services", () => {
  test("are listed with the wanted and running instances, and the progress of a rollout", async () => {
    const { stdout } = await run("services");
    const [title, row] = stdout.split("\n");
    expect(title).toMatch(/^NAME +WANTED +RUNNING +GENERATION +ROLLOUT +AGE/);
    expect(row).toMatch(/^web +3 +2 +2 +rolling 1\/3 /);
  });

  test("one is shown with its instances", async () => {
    const { stdout } = await run("services", "web");
    expect(stdout).toMatch(/^Service: +web\nWanted: +3\n/);
    expect(stdout).toMatch(
      /\nweb-1 +17 +waiting +1 > 2 +4 +restarts: exited with code 1, 4th time/,
    );
    expect(await json("services", "web")).toMatchObject({
      name: "web",
      instanceList: [{ name: "web-1", jobId: "17", restarts: 4 }],
    });
  });

  test("a command or a file is the template; without either it stays unchanged", async () => {
    expect(
      await json(
        "services",
        "apply",
        "api",
        "--replicas",
        "2",
        "--restart",
        "on-failure",
        "--",
        "a",
      ),
    ).toMatchObject({
      name: "api",
      replicas: 2,
      template: { command: ["a"], service: { restart: "on-failure" } },
    });
    file = "command: [b]\nservice: { restart: never, backoff: 2s }\n";
    expect(await json("services", "apply", "api", "--file", "web.yaml")).toMatchObject({
      template: { command: ["b"], service: { restart: "never", backoffMs: 2_000 } },
    });
    const scaled = await json("services", "apply", "api", "--replicas", "7");
    expect(scaled).toMatchObject({ replicas: 7, template: { script: "as it was" } });
    file = "- command: [b]\n- command: [c]\n";
    const two = await run("services", "apply", "api", "--file", "web.yaml");
    expect(two).toMatchObject({ code: 2 });
    expect(two.stderr).toMatch(/must hold exactly one job/);
  });

  test("are scaled, rolled back and removed, instances one by one", async () => {
    expect(await json("scale", "web", "5")).toMatchObject({ replicas: 5 });
    const back = await json("services", "rollback", "web", "--to", "7");
    expect(back).toMatchObject({ generation: 7 });
    const removed = await json("services", "remove", "web", "--reason", "old");
    expect(removed).toMatchObject({ state: "removing", reason: "old" });
    expect(await json("services", "add", "web", "blue")).toMatchObject({
      instances: [{ name: "blue" }],
    });
    expect((await run("services", "remove", "web", "blue")).stdout).toBe("no instances\n");
  });
});
