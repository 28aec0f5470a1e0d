import { afterEach, beforeEach, expect, test } from "vitest";
import { runHere } from "../testing/context.ts";
import { startFakeServer } from "../testing/fake-server.ts";

let server: Awaited<ReturnType<typeof startFakeServer>>;
beforeEach(async () => {
  server = await startFakeServer();
});
afterEach(() => server.close());

const scripts: Readonly<Record<string, string>> = {
  "train.sh": "#!/bin/sh\n#SBATCH -o %x-%j.out -d singleton\n",
  "held.sh": "#!/bin/sh\n#SBATCH -H\n",
  "held.yaml": "- {command: [a], hold: true}\n- {command: [b], hold: false}\n- {command: [c]}\n",
  "odd.yaml": "{command: [a], hold: yes}\n",
  "flow.yaml": "fit print a\n",
  "odd.sh": "#!/bin/sh\n#SBATCH -o %u.out -e %j.err\n",
};

const busbar = (line: string) =>
  runHere(line.split(" "), {
    env: { BUSBAR_SERVER: server.address, USER: "ada" },
    readInput: async (path) => Buffer.from(scripts[path] ?? ""),
  });
const specs = (): unknown =>
  server.submitted.map((request) => (request as { jobs: { spec: unknown }[] }).jobs[0]?.spec);

test("#SBATCH lines name files and a singleton, where the command line does not", async () => {
  await busbar("submit --script train.sh");
  await busbar("submit --name fit --stdout o --singleton s --script train.sh");
  expect(specs()).toMatchObject([
    {
      stdoutFile: "train.sh-%j.out",
      stderrFile: "train.sh-%j.out",
      dependsOn: [{ kind: "singleton", name: "ada/train.sh" }],
    },
    { stdoutFile: "o", stderrFile: "fit-%j.out", dependsOn: [{ kind: "singleton", name: "s" }] },
  ]);
});

test("a warning names a file of #SBATCH that cannot be written; the other one is", async () => {
  const { stderr } = await busbar("submit --script odd.sh");
  expect(stderr).toContain('warning: #SBATCH --output=%u.out of the script is ignored: "%u" is');
  expect(specs()).toMatchObject([{ stderrFile: "%j.err" }]);
  expect(specs()).not.toMatchObject([{ stdoutFile: expect.anything() }]);
});

test.each([
  [
    "./train.sh",
    "warning: the #SBATCH lines of ./train.sh are not read; --script ./train.sh reads",
  ],
  ["./plain.sh", ""],
  ["./train.bin", ""],
])("a script that is run as a program: %s", async (program, warning) => {
  const { stderr } = await runHere(["submit", "--", program], {
    env: { BUSBAR_SERVER: server.address },
    hasFile: () => true,
    readInput: async (path) => Buffer.from(scripts[path.replace("./", "")] ?? "echo"),
  });
  expect(stderr.replace("busbar: ", "").startsWith(warning)).toBe(true);
  expect(stderr === "").toBe(warning === "");
});

const holds = (): unknown =>
  server.submitted.map((request) => {
    const { jobs, hold } = request as { jobs?: { hold?: boolean }[]; hold?: boolean };
    return jobs === undefined ? hold : jobs.map((job) => job.hold);
  });

test("a job is submitted on hold by a flag, a line of its script or a key of its file", async () => {
  await busbar("submit --hold -- true");
  await busbar("submit --script held.sh");
  await busbar("submit --file held.yaml");
  await busbar("submit --hold --jobspec flow.yaml");
  await busbar("submit -- true");
  expect(holds()).toEqual([[true], [true], [true, undefined, undefined], true, [undefined]]);
});

test.each([
  ["run --hold -- true", "--hold: busbar run waits for its job; busbar submit --hold submits one"],
  ["run --script held.sh", "--hold: busbar run waits for its job"],
  ["submit --hold --file held.yaml", "--hold: cannot be combined with --file; write it into the"],
  ["submit --file odd.yaml", "hold: must be true or false"],
  ["services apply web --script held.sh", "hold: is not for services; --replicas 0 starts no"],
  ["services apply web --file held.yaml", "must hold exactly one job"],
])("%s is rejected", async (line, problem) => {
  const { code, stderr } = await busbar(line);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(problem) });
  expect(server.submitted).toEqual([]);
});
