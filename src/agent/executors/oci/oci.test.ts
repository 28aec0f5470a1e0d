import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import type { ContainerPlan } from "./container-plan.ts";
import { describeRefusal } from "./ends.ts";
import { findContainerPrograms } from "./programs.ts";
import { runtimeConfig } from "./runtime/runtime-config.ts";

const FAILED = "runc run failed: unable to start container process: ";

describe("why runc did not start a container", () => {
  const cases = [
    [
      `${FAILED}exec: "x": executable file not found in $PATH`,
      "could-not-start",
      "program not found in image: x",
    ],
    [
      `${FAILED}exec: "/x": stat /x: no such file or directory`,
      "could-not-start",
      "program not found in image: /x",
    ],
    [
      `${FAILED}exec: "/x": permission denied`,
      "could-not-start",
      "program cannot be executed in image: /x",
    ],
    [
      `${FAILED}error mounting "/a": not a directory`,
      "could-not-start",
      'runc refused to start it: unable to start container process: error mounting "/a": not a directory',
    ],
    [
      "runc run failed: mkdir: no space left on device",
      "node-fault",
      "mkdir: no space left on device",
    ],
    [
      `${FAILED}error during container init: mkdir /sys/x: read-only file system`,
      "could-not-start",
      "runc refused to start it: unable to start container process: error during container init: mkdir /sys/x: read-only file system",
    ],
    [
      "runc run failed: open /a/pid: read-only file system",
      "node-fault",
      "open /a/pid: read-only file system",
    ],
    [
      `${FAILED}"/proc/x: input/output error" cannot be mounted because it is inside /proc`,
      "could-not-start",
      'runc refused to start it: unable to start container process: "/proc/x: input/output error" cannot be mounted because it is inside /proc',
    ],
  ] as const;
  for (const [said, kind, message] of cases) {
    test(said, () => expect(describeRefusal(said)).toEqual({ kind, message }));
  }
});

test("missing programs are named", () => {
  const directory = mkdtempSync(join(tmpdir(), "busbar-programs-"));
  try {
    for (const name of ["skopeo", "unshare"])
      writeFileSync(join(directory, name), "", { mode: 0o755 });
    const found = findContainerPrograms({ PATH: directory }, []);
    expect(found).toBe("there is no runc, no umoci, no flock, no setsid on this machine");
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

describe("the configuration for runc", () => {
  const programs = { runc: "r", skopeo: "s", umoci: "u", unshare: "n", flock: "f", setsid: "t" };
  const means = {
    programs,
    isRootless: false,
    root: "overlay",
    memory: true,
    swap: true,
    cpu: "weight",
    isUnified: false,
  } as const;
  const plan: ContainerPlan = {
    containers: [],
    mounts: [],
    network: "host",
    hostname: "busbar-1",
    cwd: undefined,
    progressFile: "/p",
    script: undefined,
    needs: { cpu: 2_000, memory: 5 },
    dataLimitBytes: undefined,
    means,
    imagesDirectory: "/i",
    bootId: "b",
    plannedAtMs: 1,
  };
  const image = {
    digest: "d",
    args: ["own"],
    env: ["PATH=/bin", "A=image"],
    cwd: "/w",
    bytes: 1,
    user: { uid: 7, gid: 8 },
    bootId: "b",
    unpackedAtMs: 1,
  };
  const container = { id: "c", name: "", image: "i", args: [], env: { A: "job" } };
  interface Config {
    readonly process: {
      readonly args: string[];
      readonly env: string[];
      readonly user: unknown;
      readonly cwd: string;
    };
    readonly mounts: { readonly destination: string; readonly options: string[] }[];
    readonly linux: {
      readonly namespaces: { readonly type: string }[];
      readonly resources?: object;
    };
  }
  const made = (over: Partial<ContainerPlan> = {}, args: readonly string[] = []): Config =>
    runtimeConfig({ ...plan, ...over }, { ...container, args }, image, ["/etc/hosts"]) as Config;

  test("the image's command, variables, user and directory unless the job has its own", () => {
    expect(made().process).toMatchObject({
      args: ["own"],
      env: ["PATH=/bin", "A=job", "BUSBAR_PROGRESS_FILE=/run/busbar/progress"],
      user: { uid: 7, gid: 8 },
      cwd: "/w",
      noNewPrivileges: true,
    });
    expect(made({ cwd: "/x" }, ["echo"]).process).toMatchObject({ args: ["echo"], cwd: "/x" });
  });

  test("limits where the machine supports them", () => {
    expect(made().linux.resources).toMatchObject({
      memory: { limit: 5, swap: 5 },
      cpu: { shares: 2_048 },
    });
    const quota = made({ means: { ...means, cpu: "quota" } }).linux.resources;
    expect(quota).toMatchObject({ cpu: { quota: 200_000, period: 100_000 } });
    const none = made({ means: { ...means, memory: false, cpu: "none" } }).linux.resources;
    expect(Object.keys(none ?? {})).toEqual(["devices"]);
    const rootless = made({ means: { ...means, isRootless: true } });
    expect(rootless.linux).not.toHaveProperty("resources");
    expect(rootless.process.user).toEqual({ uid: 0, gid: 0 });
  });

  test("a network of its own only when the task requests none, and then no host names of the machine", () => {
    const types = ({ linux }: Config): string[] => linux.namespaces.map(({ type }) => type);
    const hosts = ({ mounts }: Config): boolean =>
      mounts.some(({ destination }) => destination === "/etc/hosts");
    expect([types(made()).includes("network"), hosts(made())]).toEqual([false, true]);
    const none = made({ network: "none" });
    expect([types(none).includes("network"), hosts(none)]).toEqual([true, false]);
  });

  test("mounts are read-only unless the job allows writes", () => {
    const mounts = [
      { source: "/a", target: "/ro", writable: false },
      { source: "/a", target: "/rw", writable: true },
    ];
    const options = (target: string): string | undefined =>
      made({ mounts })
        .mounts.find(({ destination }) => destination === target)
        ?.options.at(-1);
    expect([options("/ro"), options("/rw")]).toEqual(["ro", "rw"]);
  });
});
