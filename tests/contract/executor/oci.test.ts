import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { hasUnifiedGroups } from "../../../src/agent/executors/oci/runtime/group-limits.ts";
import type { RunRequest } from "../../../src/ports/executor.ts";
import { writeDockerArchive, writeImageLayout } from "../../support/container-image.ts";
import { aRequest, describeExecutorContract, endOfRun, readAll } from "./executor-contract.ts";
import { inImage, makeOciBed } from "./oci-bed.ts";
import { describeContainers, OciRuns, SUCCESS } from "./oci-runs.ts";
import { sampleProcesses, shell } from "./process-behaviour.ts";

describeContainers("a container", (world) => {
  const { directory, image } = world;
  // The first process of a container cannot stop itself: oci-ends.test.ts stops one from outside.
  const { frozen: _, ...work } = sampleProcesses;
  describeExecutorContract("processes in containers", work, () => makeOciBed(image, world));
  const runs = new OciRuns(world);

  test("has the image's programs, a name, the image's variables and the job's over them", async () => {
    const env = { BOTH: "job", OWN: "1", LD_PRELOAD: "/nowhere.so" };
    const { id, end, stdout, stderr } = await runs.inside(
      'hostname; pwd; echo "$FROM_IMAGE $BOTH $OWN $HOME"; ls /',
      {},
      { env },
    );
    expect([end, stderr]).toEqual([SUCCESS, ""]);
    expect(stdout).toBe(
      `busbar-${id.jobId}\n/tmp\nyes job 1 /root\nbin\ndev\netc\nproc\nroot\nrun\nsys\ntmp\n`,
    );
  });

  test("runs the image's own command by default", async () => {
    const { stdout } = await runs.run({ kind: "command", argv: [] });
    expect(stdout).toBe("the image's own\n");
  });

  test("runs a script with the image's shell, in the requested directory", async () => {
    const text = 'echo "$0 $# $2"; pwd; exit 4\n';
    const work = { kind: "script", text, args: ["a b", "c"] } as const;
    const { end, stdout } = await runs.run(work, { cwd: "/etc" });
    const said = "/run/busbar/script 2 c\n/etc\n";
    expect([end, stdout]).toEqual([{ kind: "exited", exitCode: 4 }, said]);
  });

  test("sees no process, no user's file and no device of the machine, and few capabilities", async () => {
    const { stdout } = await runs.inside(
      'ps | wc -l; ls /home 2>&1; ls /dev/vda /dev/sda 2>/dev/null; grep -E "CapEff|NoNewPrivs" /proc/self/status; cat /proc/kcore | head -c 1 | wc -c',
    );
    expect(stdout.split("\n")[0]).toMatch(/^[2-6]$/);
    expect(stdout).toContain("ls: /home: No such file or directory");
    expect(stdout).toMatch(/CapEff:\s+0+800405fb\n|CapEff:\s+[0-9a-f]{16}\n/);
    expect(Number.parseInt(/CapEff:\s+([0-9a-f]+)/.exec(stdout)?.[1] ?? "f", 16) & (1 << 21)).toBe(
      0,
    );
    expect(stdout).toMatch(/NoNewPrivs:\s+1\n/);
    expect(stdout).toMatch(/\n0\n$/);
  });

  test("writes to its own root: other runs and the image do not see it", async () => {
    const first = await runs.inside("echo mine >/etc/passwd; echo x >/new; cat /new");
    expect([first.end, first.stdout]).toEqual([SUCCESS, "x\n"]);
    const second = await runs.inside("ls /new 2>&1; head -n 1 /etc/passwd");
    expect(second.stdout).toBe("ls: /new: No such file or directory\nroot:x:0:0::/root:/bin/sh\n");
  });

  test("has mounts, read-only by default", async () => {
    const data = join(directory, "data");
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, "in"), "given");
    const mounts = [
      { source: data, target: "/in", writable: false },
      { source: data, target: "/out", writable: true },
    ];
    const { end, stdout, stderr } = await runs.inside(
      "cat /in/in; touch /in/x; echo made >/out/made",
      { mounts },
    );
    expect([end, stdout]).toEqual([SUCCESS, "given"]);
    expect(stderr).toContain("Read-only file system");
    expect(readFileSync(join(data, "made"), "utf8")).toBe("made\n");
    const missing = await runs.inside("true", {
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
    const host = await runs.inside(command);
    expect(host.stdout.trim().split("\n").length).toBe(links + 1);
    const none = await runs.inside(
      "ip link | grep -v '^ ' | grep -o 'lo:.*UP'; ip link | grep -c '^[0-9]*: [ew]'",
      {
        network: "none",
      },
    );
    expect(none.stdout).toMatch(/^lo:.*UP\n0\n$/);
  });

  test("reports its progress", async () => {
    const id = runs.start(shell('echo 40 half way >>"$BUSBAR_PROGRESS_FILE"'));
    expect((await endOfRun(runs.executor, id)).progress).toMatchObject({ percent: 40 });
  });

  test("runs an instance of a workload of rik", async () => {
    const own = writeImageLayout(join(directory, "own"), { command: ["sh", "-c", "echo $A"] });
    const containers = [{ name: "web", image: own, env: [{ name: "A", value: "pod" }] }];
    const text = JSON.stringify({
      apiVersion: "v1",
      kind: "Pod",
      name: "w",
      spec: { containers },
    });
    const id = { jobId: 901, index: 0, attempt: 1 };
    const { container: _, ...request } = aRequest({ kind: "workload", text }, { id });
    runs.executor.start(request);
    expect((await endOfRun(runs.executor, id)).end).toEqual(SUCCESS);
    expect((await readAll(runs.executor, id, "stdout")).text).toBe("pod\n");
  });

  test("with another user runs as that, and may report its progress", async () => {
    const other = writeImageLayout(join(directory, "worker"), { user: "worker" });
    const id = runs.start(shell('id -u; id -g; echo 7 >>"$BUSBAR_PROGRESS_FILE"'), {
      container: inImage(other),
    });
    const { end, progress } = await endOfRun(runs.executor, id);
    expect([end, progress?.percent]).toEqual([SUCCESS, 7]);
    expect((await readAll(runs.executor, id, "stdout")).text).toBe("1000\n1000\n");
  });

  describe("that cannot start", () => {
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
        expect((await runs.run(work, rest)).end).toEqual({ kind: "could-not-start", message });
        await runs.nothingLeft();
      });
    }

    test("an unknown tag, a file that is no image, a registry that does not answer", async () => {
      const tag = await runs.inside("true", { image: image.replace(/:v1$/, ":v9") });
      expect(tag.end).toMatchObject({
        kind: "could-not-start",
        message: expect.stringMatching(/no descriptor found.*"v9"/) as string,
      });
      const file = join(directory, "junk.tar");
      writeFileSync(file, "junk");
      const junk = await runs.inside("true", { image: `docker-archive:${file}` });
      expect(junk.end).toMatchObject({
        kind: "could-not-start",
        message: expect.stringMatching(/cannot be read: /) as string,
      });
      const registry = await runs.inside("true", { image: "docker://127.0.0.1:1/tool:1" });
      expect(registry.end).toMatchObject({
        kind: "could-not-start",
        message:
          /connection refused; check its name and tag, and that this node reaches the registry/,
      });
    });

    test("an image with a link at /dev, and nothing is written where it leads", async () => {
      const outside = join(directory, "outside");
      mkdirSync(outside);
      const linked = writeImageLayout(join(directory, "linked"), { links: { dev: outside } });
      for (const _start of ["unpacked by the run", "found in the cache"]) {
        const { end } = await runs.inside("true", { image: linked });
        const message = `image ${linked} has a link at /dev, not a directory`;
        expect(end).toEqual({ kind: "could-not-start", message });
      }
      expect(readdirSync(outside)).toEqual([]);
    });

    test("an image without its own command", async () => {
      const none = writeImageLayout(join(directory, "none"));
      const { end } = await runs.run({ kind: "command", argv: [] }, { container: inImage(none) });
      expect(end).toEqual({
        kind: "could-not-start",
        message: `image ${none} has no command of its own: write one after --`,
      });
    });
  });

  test("that uses more than its requested memory is out of memory", async () => {
    const bytes = 32 * 2 ** 20;
    const { end } = await runs.inside(
      "exec dd if=/dev/zero of=/dev/null bs=256M count=1",
      {},
      {
        needs: { memory: bytes },
      },
    );
    expect(end).toEqual({ kind: "out-of-memory", limitBytes: bytes });
  });

  // The memory.oom.group of version 2; with version 1 the kernel ends one process, and the container goes on.
  test.skipIf(!hasUnifiedGroups())(
    "whose child uses more than its requested memory is out of memory (needs control groups version 2)",
    async () => {
      const needs = { memory: 32 * 2 ** 20 };
      const text = "dd if=/dev/zero of=/dev/null bs=256M count=1; echo went on";
      const { end, stdout } = await runs.inside(text, {}, { needs });
      expect([end, stdout]).toEqual([{ kind: "out-of-memory", limitBytes: needs.memory }, ""]);
    },
  );

  test("of an archive that changed uses the new one", async () => {
    const file = join(directory, "tool.tar");
    const one = writeImageLayout(join(directory, "one"), { files: { "etc/which": "one" } });
    const two = writeImageLayout(join(directory, "two"), { files: { "etc/which": "two" } });
    const archive = writeDockerArchive(one, file);
    expect((await runs.inside("cat /etc/which", { image: archive })).stdout).toBe("one");
    rmSync(file);
    writeDockerArchive(two, file);
    expect((await runs.inside("cat /etc/which", { image: archive })).stdout).toBe("two");
    expect((await runs.inside("cat /etc/which", { image: `${archive}:tool:v1` })).stdout).toBe(
      "two",
    );
  });
});
