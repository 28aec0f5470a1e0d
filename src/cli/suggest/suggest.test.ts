import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Refusal, serve } from "../../client/testing/serve.ts";
import { nouns } from "../nouns.ts";
import { runHere } from "../testing/context.ts";
import { meantCommand } from "./meant-command.ts";

describe("an unknown command", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["ps", "jobs"],
    ["list", "jobs"],
    ["sbatch", "submit"],
    ["squeue", "jobs"],
    ["status", "job ID, or busbar stats"],
    ["kill 3", "cancel"],
    ["log 3", "logs"],
    ["jbos", "jobs"],
    ["help jbos", "jobs"],
  ];
  for (const [line, want] of cases) {
    test(`${line} is ${want} here`, async () => {
      const { code, stderr } = await runHere(line.split(" "));
      const [word = ""] = line.replace("help ", "").split(" ");
      expect([code, stderr]).toEqual([
        2,
        `busbar: unknown command "${word}"; did you mean busbar ${want}?\n`,
      ]);
    });
  }

  test("that resembles none leads to the help", async () => {
    expect((await runHere(["frobnicate"])).stderr).toBe(
      'busbar: unknown command "frobnicate"; busbar help lists the commands\n',
    );
  });

  test("leads only to existing commands", () => {
    const names = nouns.map(({ name }) => name);
    for (const word of [
      "scancel",
      "sinfo",
      "sacct",
      "apply",
      "resume",
      "drain",
      "htop",
      "worker",
    ]) {
      const [, meant = ""] = /did you mean busbar ([\w-]+)/.exec(meantCommand(word, names)) ?? [];
      expect(names).toContain(meant);
    }
  });
});

describe("a rejected job", () => {
  let server: Awaited<ReturnType<typeof serve>>;
  const never = () => {
    throw new Refusal(
      "FAILED_PRECONDITION",
      "nothing there is could ever run it",
      "jobs[0]",
      "unschedulable",
    );
  };
  const noName = (field: string) =>
    new Refusal("INVALID_ARGUMENT", `${field}: is not a name`, field);
  beforeAll(async () => {
    server = await serve({
      applyService: ({ template }) => {
        if (template !== undefined) throw noName("template.group");
        const problem = "template: is missing: there is no service web yet";
        throw new Refusal("INVALID_ARGUMENT", problem, "template");
      },
      updateJob: ({ group }) => {
        throw noName(group === undefined ? "ifRevision" : "group");
      },
      submitJobs: ({ jobs }) => {
        const [job] = jobs;
        if (job?.spec?.group === "a/b") throw noName("jobs[0].group");
        if (job?.spec?.labels["a b"] !== undefined) throw noName("jobs[0].labels.a b");
        if (job?.spec?.array === "0,0") throw noName("jobs[0].array");
        if (job?.spec?.placement?.node === "a/b") throw noName("jobs[0].placement.node");
        if ((job?.spec?.dependsOn ?? []).length === 0) return never();
        const field = `jobs[0].dependsOn[${(job?.spec?.dependsOn.length ?? 1) - 1}].on[0]`;
        throw new Refusal("INVALID_ARGUMENT", `${field}: there is no job called "nosuch"`, field);
      },
      countJobs: ({ group }) => {
        if (group === "new") throw new Refusal("NOT_FOUND", "there is no group new");
        return {};
      },
      listNodes: () => ({
        nodes: [
          { name: "vm1", cluster: "default", capacity: { cpu: 2, memory: 4 } },
          { name: "gpu-7", cluster: "red" },
        ],
      }),
    });
  });
  afterAll(() => server.close());
  const submit = async (line: string) =>
    (await runHere(["--server", server.address, "submit", ...line.split(" "), "--", "true"]))
      .stderr;

  test("gets the name that was probably meant", async () => {
    expect(await submit("--node vmm")).toContain("--node: there is no node vmm; did you mean vm1?");
    expect(await submit("--cluster defualt")).toContain(
      "no cluster defualt; did you mean default?",
    );
    expect(await submit("--resource cpus=1")).toContain("no node has cpus; did you mean cpu?");
    expect(await submit("--gpu 1")).not.toContain("did you mean"); // not: --resource, cpu
    expect(await submit("--resource mem=1")).toContain("no node has mem; did you mean memory?");
    expect(await submit("--node vm1")).not.toContain("did you mean");
    expect(await submit("--node other")).not.toContain("did you mean");
  });

  test("of a file gets the name that was probably meant, by its key", async () => {
    const text = "- {command: [a], resources: {cpus: 1}, placement: {node: vmm}}";
    const { stderr } = await runHere(["--server", server.address, "submit", "--file", "f"], {
      readInput: async () => Buffer.from(text),
    });
    expect(stderr).toMatch(
      /^busbar: placement.node: there is no node vmm; did you mean vm1\? resources: no node has cpus; did you mean cpu\? /,
    );
  });

  test("is reported in the words of the flag", async () => {
    expect(await submit("--after-ok nosuch")).toBe(
      'busbar: --after-ok: there is no job called "nosuch"\n',
    );
    expect(await submit("--after-ok 1 --after-any nosuch")).toContain(
      "--after-any: there is no job",
    );
    expect(await submit("--group a/b")).toBe("busbar: --group: is not a name\n");
    expect(await submit("--array 0,0")).toBe("busbar: --array: is not a name\n");
    expect(await submit("--node a/b")).toBe("busbar: --node: is not a name\n");
    const labelled = ["--server", server.address, "submit", "--label", "a b=1", "--", "true"];
    expect((await runHere(labelled)).stderr).toBe("busbar: --label: is not a name\n");
  });

  test("of a change is reported in the words of the flag, too", async () => {
    const update = (...words: string[]) =>
      runHere(["--server", server.address, "update", "17", ...words]);
    expect(await update("--group", "a/b")).toMatchObject({
      code: 1,
      stderr: "busbar: --group: is not a name\n",
    });
    expect((await update("--priority", "1", "--if-revision", "3")).stderr).toBe(
      "busbar: --if-revision: is not a name\n",
    );
  });

  test("of a service is reported in the words of the flag, too", async () => {
    const apply = async (...words: string[]) =>
      (await runHere(["--server", server.address, "services", "apply", "web", ...words])).stderr;
    expect(await apply("--group", "a/b", "--", "true")).toBe("busbar: --group: is not a name\n");
    expect(await apply("--replicas", "3")).toBe(
      "busbar: command: is missing: there is no service web yet; write it after --, or give --file\n",
    );
  });
});

test("the output names a group that a submission creates", async () => {
  const server = await serve({
    submitJobs: () => ({ jobs: [{ id: "1", existed: false }], revision: 1n }),
    countJobs: ({ group }) => {
      if (group === "new") throw new Refusal("NOT_FOUND", "there is no group new");
      return {};
    },
  });
  try {
    const submit = (group: string) =>
      runHere(["--server", server.address, "submit", "--group", group, "--", "true"]);
    expect((await submit("new")).stderr).toBe("busbar: created group new, which did not exist\n");
    expect((await submit("old")).stderr).toBe("");
  } finally {
    await server.close();
  }
});

test.each([
  ["submit --time=5 -- a", "unknown option '--time' (did you mean --time-limit?)"],
  ["run -J x -- a", "unknown option '-J' (did you mean --name?)"],
  ["jobs -u ada", "unknown option '-u' (did you mean --user?)"],
  ["nodes -u ada", "unknown option '-u'"],
  ["submit --frobnicate -- a", "unknown option '--frobnicate'"],
  ["submit --mem 4G -- a", "unknown option '--mem' (Did you mean --memory?)"],
])("%s: %s", async (line, text) => {
  expect(await runHere(line.split(" "))).toMatchObject({ code: 2, stderr: `busbar: ${text}\n` });
});
