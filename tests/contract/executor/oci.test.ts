import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";

import type { ContainerTerms } from "../../../src/core/model/job/containers/containers.ts";
import type { Executor, RunId, RunRequest } from "../../../src/ports/executor.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import {
  whyNoContainers,
  writeDockerArchive,
  writeImageLayout,
} from "../../support/container-image.ts";
import {
  aRequest,
  describeExecutorContract,
  endOfRun,
  readAll,
  reportFor,
} from "./executor-contract.ts";
import { inImage, makeOciBed, type OciBed } from "./oci-bed.ts";
import { taggedBy } from "./process-bed.ts";
import { sampleProcesses, shell } from "./process-behaviour.ts";

const why = await whyNoContainers();
if (why === undefined) describeContainers();
else describe("containers", () => test.skip(`cannot be started here: ${why}`, () => undefined));

function describeContainers(): void {
  const directory = mkdtempSync(join(tmpdir(), "busbar-image-"));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  const image = writeImageLayout(join(directory, "layout"), {
    env: ["FROM_IMAGE=yes", "BOTH=image"],
    command: ["echo", "the image's own"],
  });
  const kept = join(directory, "kept");
  mkdirSync(kept);

  for (const launcher of ["native", "spawn"] as const) {
    const bedOf = () => makeOciBed(image, { launcher, kept });
    describeExecutorContract(
      `processes in containers, launcher ${launcher},`,
      sampleProcesses,
      bedOf,
    );
  }

  describe("a container", () => {
    let bed: OciBed;
    let executor: Executor;
    let count = 0;
    beforeEach(async () => {
      bed = makeOciBed(image, { kept });
      executor = await bed.open();
    });
    afterEach(async () => {
      await executor.close();
      await bed.dispose();
    });

    const start = (work: RunRequest["work"], over: Partial<RunRequest> = {}): RunId => {
      const id = { jobId: ++count, index: 0, attempt: 1 };
      executor.start(aRequest(work, { id, ...over }));
      return id;
    };
    const run = async (work: RunRequest["work"], over: Partial<RunRequest> = {}) => {
      const id = start(work, over);
      const { end } = await endOfRun(executor, id);
      const { text: stdout } = await readAll(executor, id, "stdout");
      const { text: stderr } = await readAll(executor, id, "stderr");
      return { end, stdout, stderr };
    };
    const inside = (
      text: string,
      over: Partial<ContainerTerms> = {},
      more: Partial<RunRequest> = {},
    ) => run(shell(text), { container: inImage(image, over), ...more });
    const SUCCESS = { kind: "exited", exitCode: 0 };

    test("has the image's programs, a name, the image's variables and the job's over them", async () => {
      const env = { BOTH: "job", OWN: "1", LD_PRELOAD: "/nowhere.so" };
      const { end, stdout, stderr } = await inside(
        'hostname; pwd; echo "$FROM_IMAGE $BOTH $OWN $HOME"; ls /',
        {},
        { env },
      );
      expect([end, stderr]).toEqual([SUCCESS, ""]);
      expect(stdout).toBe(
        `busbar-${count}\n/tmp\nyes job 1 /root\nbin\ndev\netc\nproc\nroot\nrun\nsys\ntmp\n`,
      );
    });

    test("runs the image's own command where none is given", async () => {
      const { stdout } = await run({ kind: "command", argv: [] });
      expect(stdout).toBe("the image's own\n");
    });

    test("runs a script by the image's shell, and in the directory that was asked for", async () => {
      const work = { kind: "script", text: 'echo "$0"; pwd; exit 4\n' } as const;
      const { end, stdout } = await run(work, { cwd: "/etc" });
      expect([end, stdout]).toEqual([
        { kind: "exited", exitCode: 4 },
        "/run/busbar/script\n/etc\n",
      ]);
    });

    test("sees no process, no user's file and no device of the machine, and few capabilities", async () => {
      const { stdout } = await inside(
        'ps | wc -l; ls /home 2>&1; ls /dev/vda /dev/sda 2>/dev/null; grep -E "CapEff|NoNewPrivs" /proc/self/status; cat /proc/kcore | head -c 1 | wc -c',
      );
      expect(stdout.split("\n")[0]).toMatch(/^[2-6]$/);
      expect(stdout).toContain("ls: /home: No such file or directory");
      expect(stdout).toMatch(/CapEff:\s+0+800405fb\n|CapEff:\s+[0-9a-f]{16}\n/);
      expect(
        Number.parseInt(/CapEff:\s+([0-9a-f]+)/.exec(stdout)?.[1] ?? "f", 16) & (1 << 21),
      ).toBe(0);
      expect(stdout).toMatch(/NoNewPrivs:\s+1\n/);
      expect(stdout).toMatch(/\n0\n$/);
    });

    test("writes to a root of its own: neither another run nor the image sees it", async () => {
      const first = await inside("echo mine >/etc/passwd; echo x >/new; cat /new");
      expect([first.end, first.stdout]).toEqual([SUCCESS, "x\n"]);
      const second = await inside("ls /new 2>&1; head -n 1 /etc/passwd");
      expect(second.stdout).toBe(
        "ls: /new: No such file or directory\nroot:x:0:0::/root:/bin/sh\n",
      );
    });

    test("has mounts, read-only unless it asks for more", async () => {
      const data = join(directory, "data");
      mkdirSync(data, { recursive: true });
      writeFileSync(join(data, "in"), "given");
      const mounts = [
        { source: data, target: "/in", writable: false },
        { source: data, target: "/out", writable: true },
      ];
      const { end, stdout, stderr } = await inside(
        "cat /in/in; touch /in/x; echo made >/out/made",
        { mounts },
      );
      expect([end, stdout]).toEqual([SUCCESS, "given"]);
      expect(stderr).toContain("Read-only file system");
      expect(readFileSync(join(data, "made"), "utf8")).toBe("made\n");
      const missing = await inside("true", {
        mounts: [{ source: "/nowhere", target: "/in", writable: false }],
      });
      expect(missing.end).toEqual({
        kind: "could-not-start",
        message: "there is no /nowhere to mount on this node",
      });
    });

    test("has the machine's network, or none", async () => {
      const command = "ls /sys/class/net; ip link | grep -c '^[0-9]'";
      const links = readdirSync("/sys/class/net").length;
      const host = await inside(command);
      expect(host.stdout.trim().split("\n").length).toBe(links + 1);
      const none = await inside(
        "ip link | grep -v '^ ' | grep -o 'lo:.*UP'; ip link | grep -c '^[0-9]*: [ew]'",
        {
          network: "none",
        },
      );
      expect(none.stdout).toMatch(/^lo:.*UP\n0\n$/);
    });

    test("says how far it is", async () => {
      const id = start(shell('echo 40 half way >>"$BUSBAR_PROGRESS_FILE"'));
      expect((await endOfRun(executor, id)).progress).toMatchObject({ percent: 40 });
    });

    test("is stopped at once when its program has no handler for TERM, and in order when it has one", async () => {
      const deaf = start(shell("echo ready; sleep 1000"), { killGraceMs: 600_000 });
      const polite = start(
        shell("trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done"),
        { killGraceMs: 600_000 },
      );
      for (const id of [deaf, polite]) await untilOutput(id, "ready\n");
      executor.stop(deaf);
      executor.stop(polite);
      for (const id of [deaf, polite]) {
        expect((await endOfRun(executor, id)).end.kind).toBe("stopped");
      }
      expect((await readAll(executor, polite, "stdout")).text).toBe("ready\nbye\n");
    });

    test("that ignores TERM is killed after its grace period, and nothing of it is left", async () => {
      const id = start(shell("trap '' TERM; echo ready; sleep 1000 & wait; sleep 1000"), {
        killGraceMs: 100,
      });
      await untilOutput(id, "ready\n");
      executor.stop(id);
      expect((await endOfRun(executor, id)).end.kind).toBe("stopped");
      await nothingLeft();
    });

    test("that ends leaves no mount, no state and no directory", async () => {
      await inside("sleep 1000 & exit 0");
      await nothingLeft();
      expect(readFileSync("/proc/self/mounts", "utf8")).not.toContain(kept);
    });

    test("of several the first to end ends all, and lines have names", async () => {
      const container: ContainerTerms = {
        ...inImage(image),
        image: undefined,
        containers: [
          {
            name: "web",
            image,
            command: [
              "sh",
              "-c",
              'echo "$ROLE $JOB"; trap "echo bye; exit 0" TERM; while :; do sleep 0.05; done',
            ],
            env: { ROLE: "web" },
          },
          { name: "once", image, command: ["sh", "-c", "sleep 0.3; echo done; exit 5"], env: {} },
          { name: "own", image, command: ["sleep", "1000"], env: {} },
        ],
      };
      const { end, stdout } = await run(
        { kind: "command", argv: [] },
        { container, env: { JOB: "j" } },
      );
      expect(end).toEqual({ kind: "exited", exitCode: 5 });
      expect(stdout.trim().split("\n").toSorted()).toEqual([
        "once: done",
        "web: bye",
        "web: web j",
      ]);
      await nothingLeft();
    });

    test("of several that are stopped all are", async () => {
      const one = (name: string) => ({
        name,
        image,
        command: ["sh", "-c", "echo ready; exec sleep 1000"],
        env: {},
      });
      const container = { ...inImage(image), image: undefined, containers: [one("a"), one("b")] };
      const id = start({ kind: "command", argv: [] }, { container, killGraceMs: 600_000 });
      await untilOutput(id, "a: ready\n", "b: ready\n");
      executor.stop(id);
      expect((await endOfRun(executor, id)).end.kind).toBe("stopped");
      await nothingLeft();
    });

    test("whose user is another runs as that, and may say how far it is", async () => {
      const other = writeImageLayout(join(directory, "worker"), { user: "worker" });
      const id = start(shell('id -u; id -g; echo 7 >>"$BUSBAR_PROGRESS_FILE"'), {
        container: inImage(other),
      });
      const { end, progress } = await endOfRun(executor, id);
      expect([end, progress?.percent]).toEqual([SUCCESS, 7]);
      expect((await readAll(executor, id, "stdout")).text).toBe("1000\n1000\n");
    });

    describe("that cannot be", () => {
      const cases: readonly (readonly [string, Partial<RunRequest>, string])[] = [
        [
          "a program that is missing",
          { work: { kind: "command", argv: ["nosuch"] } },
          "program not found in image: nosuch",
        ],
        [
          "a path that is missing",
          { work: { kind: "command", argv: ["/no/such"] } },
          "program not found in image: /no/such",
        ],
        [
          "no program",
          { work: { kind: "command", argv: ["/etc/passwd"] } },
          "program cannot be executed in image: /etc/passwd",
        ],
        [
          "an image that is missing",
          { container: inImage("docker-archive:/no/such.tar") },
          "image docker-archive:/no/such.tar: there is no /no/such.tar on this node; put it there, or name an image of a registry",
        ],
      ];
      for (const [name, over, message] of cases) {
        test(`${name} fails with the reason`, async () => {
          const { work = shell("true"), ...rest } = over;
          expect((await run(work, rest)).end).toEqual({ kind: "could-not-start", message });
          await nothingLeft();
        });
      }

      test("an unknown tag, a file that is no image, a registry that does not answer", async () => {
        const tag = await inside("true", { image: image.replace(/:v1$/, ":v9") });
        expect(tag.end).toMatchObject({
          kind: "could-not-start",
          message: expect.stringMatching(/no descriptor found.*"v9"/) as string,
        });
        const file = join(directory, "junk.tar");
        writeFileSync(file, "junk");
        const junk = await inside("true", { image: `docker-archive:${file}` });
        expect(junk.end).toMatchObject({
          kind: "could-not-start",
          message: expect.stringMatching(/cannot be read: /) as string,
        });
        const registry = await inside("true", { image: "docker://127.0.0.1:1/tool:1" });
        expect(registry.end).toMatchObject({
          kind: "could-not-start",
          message:
            /connection refused; check its name and tag, and that this node reaches the registry/,
        });
      });

      test("an image without a command of its own", async () => {
        const none = writeImageLayout(join(directory, "none"));
        const { end } = await run({ kind: "command", argv: [] }, { container: inImage(none) });
        expect(end).toEqual({
          kind: "could-not-start",
          message: `image ${none} has no command of its own: write one after --`,
        });
      });
    });

    test("that uses more memory than it asked for is out of memory", async () => {
      const bytes = 32 * 2 ** 20;
      const { end } = await inside(
        "exec dd if=/dev/zero of=/dev/null bs=256M count=1",
        {},
        {
          needs: { memory: bytes },
        },
      );
      expect(end).toEqual({ kind: "out-of-memory", limitBytes: bytes });
    });

    test("of an archive that changed is of the new one", async () => {
      const file = join(directory, "tool.tar");
      const one = writeImageLayout(join(directory, "one"), { files: { "etc/which": "one" } });
      const two = writeImageLayout(join(directory, "two"), { files: { "etc/which": "two" } });
      const archive = writeDockerArchive(one, file);
      expect((await inside("cat /etc/which", { image: archive })).stdout).toBe("one");
      rmSync(file);
      writeDockerArchive(two, file);
      expect((await inside("cat /etc/which", { image: archive })).stdout).toBe("two");
      expect((await inside("cat /etc/which", { image: `${archive}:tool:v1` })).stdout).toBe("two");
    });

    const untilOutput = (id: RunId, ...parts: readonly string[]) =>
      eventually(
        async () => {
          const report = reportFor(executor, id);
          expect(report?.kind, JSON.stringify(report)).not.toBe("ended");
          const how = { offset: 0, maxBytes: 1_000, waitMs: 0 };
          const { data } = await executor.readOutput(id, "stdout", how);
          const text = Buffer.from(data).toString();
          return parts.every((part) => text.includes(part));
        },
        { what: parts.join("") },
      );

    const nothingLeft = () =>
      eventually(
        () =>
          readdirSync(join(kept, "runs")).length === 0 &&
          readdirSync(join(kept, "states")).length === 0 &&
          taggedBy(bed.runsDirectory).length === 0,
        { what: "containers to go" },
      );
  });

  test("what containers of dead runs left is removed when an agent starts", async () => {
    const bed = makeOciBed(image, { kept });
    const first = await bed.open();
    const id = { jobId: 900, index: 0, attempt: 1 };
    first.start(aRequest(shell("echo ready; sleep 1000"), { id }));
    await first.readOutput(id, "stdout", { offset: 0, maxBytes: 10, waitMs: 20_000 });
    await first.close();
    expect(existsSync(join(kept, "runs/900.0.1"))).toBe(true);
    rmSync(bed.runsDirectory, { recursive: true, force: true }); // nobody knows of the run any more
    const [state = ""] = readdirSync(join(kept, "states"));
    expect(state).toMatch(/900\.0\.1-0$/);
    mkdirSync(bed.runsDirectory);
    const second = await bed.open();
    await second.close();
    expect(readdirSync(join(kept, "runs"))).toEqual([]);
    expect(readdirSync(join(kept, "states"))).toEqual([]);
    await bed.dispose();
  });
}
