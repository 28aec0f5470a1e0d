import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runHere } from "../testing/context.ts";
import { startFakeServer } from "../testing/fake-server.ts";

let server: Awaited<ReturnType<typeof startFakeServer>>;
beforeEach(async () => {
  server = await startFakeServer();
});
afterEach(() => server.close());

const files: Record<string, string> = {
  "flow.yaml": "train/fit print a\ntrain/score print b\n",
  "bad.yaml": "fit print a\nscore fail 3\n",
  "never.yaml": "fit print a\nscore never\n",
  "-": "only print x",
  "jobs.yaml": "- {name: a, command: [print, x]}\n- {name: b, command: [stay]}\n",
  "rules.yaml": "- priority: 1\n  steps: [{ select: first }]\n",
  "request.yaml": "- - type: node\n    with: [{ type: core, count: 2 }]\n",
};

async function busbar(line: string | readonly string[]) {
  const env = { BUSBAR_SERVER: server.address };
  const readInput = async (path: string) => Buffer.from(files[path] ?? "");
  const argv = typeof line === "string" ? line.split(" ") : line;
  const { code, stdout, stderr } = await runHere(argv, { env, readInput });
  return { code, stdout, stderr };
}
const specs = (): unknown =>
  server.submitted.map((request) => (request as { jobs: { spec: unknown }[] }).jobs[0]?.spec);

test("a program that only this directory has is submitted, with a warning that says what to write", async () => {
  const env = { BUSBAR_SERVER: server.address, PATH: "/usr/bin:/bin" };
  const there = new Set(["/here/s.sh", "/here/make", "/usr/bin/make"]);
  const hasFile = (path: string): boolean => there.has(path);
  const run = (line: string) => runHere(line.split(" "), { env, cwd: "/here", hasFile });
  expect((await run("submit -- s.sh 1")).stderr).toContain("write ./s.sh");
  for (const line of [
    "submit -- ./s.sh",
    "submit -- make",
    "submit -- other",
    "submit -- /here/s.sh",
  ]) {
    expect((await run(line)).stderr, line).not.toContain("not on the PATH");
  }
  expect(server.submitted).toHaveLength(5);
});

test.each([
  ["--script jobs/train.sh", "train.sh"],
  ["--name fit --script train.sh", "fit"],
  ["--script -", undefined],
  ["--script /dev/fd/63", undefined],
])("a job is named after its script: %s", async (flags, name) => {
  expect((await busbar(`submit ${flags}`)).code).toBe(0);
  expect(specs()).toEqual([{ ...(name && { name }), script: expect.any(String) }]);
});

test("%% in the name of an output file is a percent sign, whatever follows it", async () => {
  expect(await busbar("submit --stdout 100%%.txt --stderr %%%j -- true")).toMatchObject({
    code: 0,
  });
  expect(specs()).toMatchObject([{ stdoutFile: "100%%.txt", stderrFile: "%%%j" }]);
});

test.each([
  ["/here/a\tb", "local here", /has a line break, tab or the like: running in a fresh directory/],
  ["/here/\ufffd", undefined, /the path of this directory is not UTF-8: running in/],
  ["/here/\ufffd", "local here", /^$/],
])("submit warns of a directory that a job cannot name: %j", async (cwd, id, stderr) => {
  const env = { BUSBAR_SERVER: server.address };
  const ran = await runHere(["submit", "--", "true"], { env, cwd, directoryId: () => id });
  expect(ran.stderr).toMatch(stderr);
  expect((await runHere(["submit", "--cwd", "fresh", "--", "true"], { env, cwd })).stderr).toBe("");
});

describe("submit --file with a job as busbar job -o json prints it", () => {
  const submitShown = async (spec: object) => {
    files["shown.json"] = JSON.stringify({ id: "17", spec, state: "pending" });
    return submitHere("shown.json");
  };
  const submitHere = (file: string) =>
    runHere(["submit", "--file", file], {
      env: { BUSBAR_SERVER: server.address },
      readInput: async (path) => Buffer.from(files[path] ?? ""),
      cwd: "/here",
      directoryId: () => "local here",
    });

  test("does not add this directory: a job without one had a fresh directory", async () => {
    files["written.json"] = '{"command": ["true"]}';
    await submitHere("written.json");
    await submitShown({ command: ["true"] });
    const [written, shown] = specs() as { submitDirectory?: string }[];
    expect([written?.submitDirectory, shown?.submitDirectory]).toEqual(["/here", undefined]);
  });

  test("a written job whose directory is fresh gets none", async () => {
    files["fresh.json"] = '{"command": ["true"], "cwd": "fresh"}';
    await submitHere("fresh.json");
    expect(specs()).toEqual([{ command: ["true"] }]);
  });

  test("leaves out the amounts that follow from a request: the server takes either of them", async () => {
    const request = [[{ type: "node", with: [{ type: "core", count: 2 }] }]];
    await submitShown({ command: ["true"], resources: { cpu: 2 }, request });
    expect(specs()).toEqual([{ command: ["true"], request: JSON.stringify(request) }]);
  });

  test("rejects a job that had the input of its client", async () => {
    expect(await submitShown({ command: ["cat"], attach: "stdin" })).toMatchObject({
      code: 2,
      stderr: "busbar: attach: this command passes no input or terminal on; use busbar run\n",
    });
    expect(server.submitted).toEqual([]);
  });
});

describe("submit --jobspec", () => {
  test("prints a line for each task: the id and its name", async () => {
    expect(await busbar("submit --jobspec flow.yaml")).toEqual({
      code: 0,
      stdout: "job 121 (train/fit)\njob 122 (train/score)\n",
      stderr: "",
    });
    expect(await busbar("submit --jobspec - -q")).toMatchObject({ stdout: "123\n" });
    const { stdout } = await busbar("submit --jobspec flow.yaml --output json");
    expect(JSON.parse(stdout)).toMatchObject({
      jobs: [
        { id: "124", name: "train/fit" },
        { id: "125", name: "train/score" },
      ],
      revision: expect.any(Number) as number,
    });
  });

  test("sends the text unchanged, with the flags for all its jobs", async () => {
    const flags = "--group g --label a=b --priority 3 --cluster c --node n --node-label d=e";
    const select = "--select constraint --select-options rules.yaml --parameter n=4";
    await busbar(
      `submit --jobspec flow.yaml ${flags} ${select} --idempotency-key k --allow-unsatisfiable`,
    );
    expect(server.submitted).toEqual([
      {
        jobspec: files["flow.yaml"],
        group: "g",
        labels: { a: "b" },
        priority: 3,
        placement: { cluster: "c", node: "n", labels: { d: "e" } },
        select: {
          strategy: "constraint",
          options: '{"priorities":[{"priority":1,"steps":[{"select":"first"}]}]}',
          parameters: { n: { number: 4 } },
        },
        idempotencyKey: "k",
        allowUnsatisfiable: true,
      },
    ]);
  });

  test("--wait waits for all of them", async () => {
    expect(await busbar("submit --jobspec flow.yaml --wait")).toMatchObject({ code: 0 });
    const failed = await busbar("submit --jobspec bad.yaml --wait");
    expect(failed.code).toBe(1);
    expect(failed.stderr).toMatch(/^busbar: job \d+ \(fail\) failed/);
    expect(failed.stderr).toMatch(
      /see busbar logs \d+ --stderr; run it again with busbar rerun \d+/,
    );
  });

  test("an error in a flag beside it names the flag as written", async () => {
    expect(await busbar("submit --jobspec flow.yaml --select chepest")).toEqual({
      code: 1,
      stdout: "",
      stderr: "busbar: select: no such thing\n",
    });
  });
});

describe("an unsatisfiable job", () => {
  const refusal =
    "no registered node or cluster can run this job: 1 node: too small. Change the request, add a " +
    "node that fits, or allow it to be queued anyway";

  test("is rejected with the reasons and the flag that allows it", async () => {
    for (const command of ["submit", "run"]) {
      expect(await busbar(`${command} never`)).toEqual({
        code: 1,
        stdout: "",
        stderr: `busbar: ${refusal} (--allow-unsatisfiable)\n`,
      });
    }
    expect(await busbar("submit --jobspec never.yaml")).toMatchObject({
      code: 1,
      stderr: `busbar: score: ${refusal} (--allow-unsatisfiable)\n`,
    });
  });

  test("is one JSON value with the flag as a hint", async () => {
    const { code, stdout } = await busbar("submit --output json never");
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      error: { code: "unschedulable", message: refusal, hint: "--allow-unsatisfiable" },
    });
  });

  test("is accepted when it is allowed", async () => {
    expect(await busbar("submit --allow-unsatisfiable never")).toMatchObject({ code: 0 });
    expect(server.submitted).toMatchObject([{ allowUnsatisfiable: true }]);
  });
});

describe("submit --dry-run", () => {
  test("prints where tasks would be placed and how many would be pending", async () => {
    const { code, stdout } = await busbar("submit --dry-run --name sweep --array 0-4 print");
    expect(code).toBe(0);
    expect(stdout).toMatchInlineSnapshot(`
      "sweep: 5 tasks
        2 tasks would start on node n1 of cluster default
        1 task would be offered to cluster blue
        1 task would wait: there is free capacity only for tasks that go first
        1 task not tried
      "
    `);
    expect([server.submitted, server.tried.length]).toEqual([[], 1]);
  });

  test("of several jobs has a section each, with the reasons why they would be pending", async () => {
    const { code, stdout } = await busbar("submit --dry-run --file jobs.yaml");
    expect(code).toBe(0);
    expect(stdout).toMatchInlineSnapshot(`
      "a: 1 task
        1 task would start on node n1 of cluster default

      b: 1 task
        1 task would wait

      NODES  REASON     WAITING HELPS  FOR EXAMPLE
          3  busy: cpu  yes            a, b

      CLUSTER  KIND     WHEN   WHY
      red      pulling  never  no gpu; or x

      Cheapest change: wait for task 7

      What would help:
      - start an agent
      "
    `);
  });

  test("exits 1 when one would be rejected, unless it is allowed", async () => {
    const refused = await busbar("submit --dry-run --jobspec never.yaml");
    expect(refused.code).toBe(1);
    expect(refused.stdout).toContain(
      "\n\nscore: 1 task\n  would be refused: no registered node or cluster can run this job\n",
    );
    const allowed = await busbar("submit --dry-run --jobspec never.yaml --allow-unsatisfiable");
    expect(allowed.code).toBe(0);
    expect(allowed.stdout).toContain(
      "1 task would wait: no registered node or cluster can run this job\n",
    );
    expect(server.tried).toMatchObject([
      { jobspec: { jobspec: files["never.yaml"] } },
      { jobspec: { allowUnsatisfiable: true } },
    ]);
  });

  test("is one JSON value", async () => {
    const { code, stdout } = await busbar("submit --dry-run --output json --name x never");
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      accepted: false,
      jobs: [
        {
          name: "x",
          tasks: 1,
          placements: [],
          waiting: 1,
          untried: 0,
          possible: false,
          reasons: [{ reason: "busy: cpu", nodes: 3, never: true, examples: ["a", "b"] }],
          clusters: [
            { cluster: "red", kind: "pulling", verdict: "never", reasons: ["no gpu", "x"] },
          ],
          hints: ["start an agent"],
          cheapestChange: "wait for task 7",
        },
      ],
      revision: 1,
    });
  });
});

describe("the graph request of a job", () => {
  const node = [[{ type: "node", with: [{ type: "core", count: 2 }] }]];

  test("--request is a file or a text, and replaces amounts", async () => {
    await busbar("submit --request request.yaml print");
    await busbar(["run", "--request", "[[{type: node, with: [{type: core, count: 2}]}]]", "print"]);
    const request = JSON.stringify(node);
    expect(specs()).toMatchObject([{ request }, { request }]);
    for (const spec of specs() as object[]) expect(spec).not.toHaveProperty("resources");
  });

  test("--require makes a request of one slot on one node, with the amounts", async () => {
    const amounts = "--cpu 0.5 --memory 1KiB --gpu 2 --resource fpga=3";
    await busbar(`submit --require spack:name=ior,version>=3.3 --require os:name ${amounts} print`);
    const [spec] = specs() as { request: string }[];
    const unasked = { isSlot: false, isExclusive: false, requires: [], with: [] };
    expect(JSON.parse(spec?.request ?? "")).toEqual([
      [
        {
          ...unasked,
          type: "node",
          count: 1,
          requires: [
            {
              subsystem: "spack",
              conditions: [
                { kind: "one-of", field: "name", values: ["ior"] },
                { kind: "version", field: "version", min: "3.3" },
              ],
            },
            { subsystem: "os", conditions: [{ kind: "present", field: "name" }] },
          ],
          with: [
            {
              ...unasked,
              type: "slot",
              count: 1,
              isSlot: true,
              with: [
                { ...unasked, type: "core", count: 0.5 },
                { ...unasked, type: "memory", count: 1_024, unit: "B" },
                { ...unasked, type: "fpga", count: 3 },
                { ...unasked, type: "gpu", count: 2 },
              ],
            },
          ],
        },
      ],
    ]);
    expect(spec).not.toHaveProperty("resources");
  });

  test("--select, its options and parameters belong to the job", async () => {
    await busbar("submit --select cheapest print");
    await busbar("submit --select-options rules.yaml print");
    await busbar("run --parameter n=4 --parameter zone=north print");
    await busbar("submit print");
    const [, , , plain] = specs() as object[];
    expect(specs()).toMatchObject([
      { select: { strategy: "cheapest" } },
      { select: { strategy: "constraint", options: expect.stringContaining("first") as string } },
      { select: { parameters: { n: { number: 4 }, zone: { text: "north" } } } },
      {},
    ]);
    expect(plain).not.toHaveProperty("select");
  });
});

test("--export-env sends the submitter's variables, and --env overrides them", async () => {
  const env = {
    BUSBAR_SERVER: server.address,
    A: "1",
    B: "2",
    PWD: "/somewhere",
    "BASH_FUNC_module%%": "() { :; }",
    GONE: undefined,
  };
  const line = "submit --export-env --env B=3 -- true";
  expect(await runHere(line.split(" "), { env })).toMatchObject({ code: 0 });
  expect(specs()).toMatchObject([{ env: { A: "1", B: "3" } }]);
  const [spec] = specs() as { env: object }[];
  expect(Object.keys(spec?.env ?? {})).toEqual(["A", "B"]);
});

describe("a job with an image", () => {
  test("needs no command; paths are relative to the caller's directory", async () => {
    await busbar("submit --image oci:img:v1 --mount data:/in --mount /out:/out:rw --network none");
    expect(specs()).toMatchObject([
      {
        image: expect.stringMatching(/^oci:\/.*\/img:v1$/) as string,
        mounts: [
          { source: expect.stringMatching(/^\/.*\/data$/) as string, target: "/in" },
          { source: "/out", target: "/out", writable: true },
        ],
        network: "none",
      },
    ]);
    await busbar("submit --image alpine:3 true");
    expect(specs()).toMatchObject([{}, { image: "alpine:3", command: ["true"] }]);
  });
});
