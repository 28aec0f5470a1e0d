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
