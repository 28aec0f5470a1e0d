import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runHere } from "../testing/context.ts";
import { startFakeServer } from "../testing/fake-server.ts";

let server: Awaited<ReturnType<typeof startFakeServer>>;
beforeEach(async () => {
  server = await startFakeServer();
});
afterEach(() => server.close());

const busbar = (line: string) =>
  runHere(line.split(" "), { env: { BUSBAR_SERVER: server.address } });
const submit = async (words: string): Promise<string> =>
  (await busbar(`submit -q -- ${words}`)).stdout.trim();

describe("wait --timeout", () => {
  test("names the jobs that have not ended, and the failed ones, and exits 124", async () => {
    const [a, b, c, d] = [
      await submit("stay"),
      await submit("fail 3"),
      await submit("stay"),
      await submit("print x"),
    ];
    const { code, stdout, stderr } = await busbar(`wait ${a} ${b} ${c} ${d} --timeout 50ms`);
    expect({ code, stdout }).toEqual({ code: 124, stdout: "" });
    expect(stderr).toContain(`jobs ${a}, ${c} have not ended after 50ms\n`);
    expect(stderr).toMatch(new RegExp(`job ${b} .*failed`));
    const one = await busbar(`wait ${a} --timeout 50ms`);
    expect(one.stderr).toContain(`job ${a} has not ended after 50ms\n`);
  });

  test("prints their ids as JSON", async () => {
    const [late, ended] = [await submit("stay"), await submit("print x")];
    const { code, stdout } = await busbar(`wait ${late} ${ended} --timeout 50ms -o json`);
    expect(code).toBe(124);
    expect(JSON.parse(stdout)).toMatchObject({ jobs: [{ id: ended }], notEnded: [late] });
  });

  test("counts those of many that it does not name", async () => {
    const ids: string[] = [];
    for (let at = 0; at < 12; at++) ids.push(await submit("stay"));
    const { stderr } = await busbar(`wait ${ids.join(" ")} --timeout 10ms`);
    expect(stderr).toContain(`jobs ${ids.slice(0, 10).join(", ")} and 2 more have not ended`);
  });

  test("looks once with 0s, and does not delay jobs that end in time", async () => {
    const [ended, late] = [await submit("print x"), await submit("stay")];
    expect(await busbar(`wait ${ended} --timeout 0s`)).toMatchObject({ code: 0, stderr: "" });
    expect(await busbar(`wait ${ended} --timeout 366d`)).toMatchObject({ code: 0, stderr: "" });
    expect((await busbar(`wait ${late} --timeout 0s`)).code).toBe(124);
  });

  test("works for submit --wait, and needs it", async () => {
    const late = await busbar("submit --wait --timeout 50ms -- stay");
    expect(late.code).toBe(124);
    expect(late.stderr).toMatch(/job \d+ has not ended after 50ms/);
    expect(await busbar("submit --wait --timeout 366d -- print x")).toMatchObject({ code: 0 });
    const { code, stderr } = await busbar("submit --timeout 5m -- true");
    expect(code).toBe(2);
    expect(stderr).toContain("--timeout: needs --wait; --time-limit stops a task");
    expect((await busbar("rerun 1 --timeout 5m")).stderr).toContain("--timeout: needs --wait");
    expect(server.submitted).toHaveLength(2);
  });
});
