import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { spawnSync } from "node:child_process";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Site } from "../support/busbar.ts";
import { whyNotInstalled } from "../support/debian.ts";

const SYSTEMD = { packages: ["systemd"], programs: ["/usr/bin/systemd-analyze"] };
const whyNot = whyNotInstalled(SYSTEMD);

let site: Site;
beforeEach(() => {
  site = new Site();
});
afterEach(() => site.close());

const analyze = (...args: string[]) =>
  spawnSync("systemd-analyze", args, { encoding: "utf8", timeout: 60_000 });

describe.skipIf(whyNot !== undefined)(
  `units of systemd (${whyNot ?? "checked by systemd"})`,
  () => {
    const PARTS = [
      ["server", ["--", "--grpc", "10.0.0.5:7071", "--insecure-listen"], 2],
      ["agent", ["--user", "daemon", "--", "--task-env", 'A=50% $b "c"'], 9],
    ] as const;
    for (const [part, flags, exposureMax] of PARTS) {
      test(`systemd accepts that of the ${part} without a warning`, async () => {
        const { code, stdout, stderr } = await site.run("service", "show", part, ...flags);
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
        const file = site.path(`busbar-${part}.service`);
        writeFileSync(file, stdout);
        const verified = analyze("verify", file);
        const ours = verified.stderr.split("\n").filter((line) => line.includes("busbar-"));
        expect(ours).toEqual([]);
        const security = analyze("security", "--offline=yes", "--no-pager", file);
        const [, exposure = ""] =
          /Overall exposure level for \S+: ([\d.]+)/.exec(security.stdout) ?? [];
        expect(Number(exposure)).toBeLessThan(exposureMax);
      });
    }
  },
);

test("install and show reject flags that the part itself would reject, and write nothing", async () => {
  const folder = site.path("no-units");
  const cases: [args: string[], text: string][] = [
    [["server", "--", "--nosuch"], "unknown option '--nosuch'"],
    [["server", "--", "--grpc", "x"], '--grpc: "x" is not an address'],
    [["server", "--", "--grpc", "0.0.0.0:7071"], "--insecure-listen"],
    [["agent", "--user", "daemon", "--", "--server", "x"], '--server: "x" is not an address'],
    [["server", "--", "--data", "/srv/busbar"], "--data: the service cannot write to /srv/busbar"],
    [["agent", "--user", "daemon", "--", "--data=x"], '--data: "x" is not an absolute path'],
    [["agent", "--user", "nosuch"], "--user: there is no user nosuch on this machine"],
  ];
  for (const [args, text] of cases) {
    const running = site.start(["service", "install", "--unit-dir", folder, "--no-start", ...args]);
    expect([args, await running.end()]).toEqual([args, 2]);
    expect(running.output).toContain(text);
  }
  const show = site.start(["service", "show", "server", "--", "--rik", "x"]);
  expect([await show.end(), show.output]).toEqual([2, expect.stringContaining("--rik")]);
  const nowhere = site.start(["service", "install", "server", "--unit-dir", folder, "--no-start"]);
  expect(await nowhere.end()).toBe(1);
  expect(nowhere.output).toContain(`there is no directory ${folder}; make it first`);
});

test("install writes a unit and starts it, uninstall undoes both, and they do not touch other files", async () => {
  const folder = site.path("units");
  const bin = site.path("bin");
  mkdirSync(folder);
  mkdirSync(bin);
  writeFileSync(`${bin}/systemctl`, `#!/bin/sh\necho "$@" >>${site.path("calls")}\n`);
  chmodSync(`${bin}/systemctl`, 0o755);
  const run = async (...args: string[]) => {
    const PATH = `${bin}:${process.env["PATH"]}`;
    const running = site.start(["service", ...args, "--unit-dir", folder], { PATH });
    return { code: await running.end(), output: running.output };
  };
  const file = `${folder}/busbar-agent.service`;
  const installed = await run("install", "agent", "--user", "daemon");
  expect(installed.output).toContain(`Wrote ${file} and started it.`);
  const text = readFileSync(file, "utf8");
  expect(text).toMatch(/^User=daemon$/m);
  // systemd starts nothing in a group that has groups with limits below it: tasks have theirs elsewhere.
  expect(text).toMatch(/^ExecStart=.* --cgroup \/sys\/fs\/cgroup\/busbar.slice\/tasks$/m);
  expect(text).toMatch(/^Slice=busbar.slice$/m);
  expect(text).toMatch(/^ExecStartPre=.*mkdir -p tasks && chown daemon cgroup.procs tasks /m);
  expect((await run("install", "agent")).output).toContain(
    "--user: is missing: tasks run as this user",
  );
  const removed = await run("uninstall", "agent");
  expect(removed.output).toContain(`Removed ${file}; its data stays in /var/lib/busbar-agent.`);
  expect(existsSync(file)).toBe(false);
  expect(readFileSync(site.path("calls"), "utf8").trim().split("\n")).toEqual([
    "daemon-reload",
    "enable busbar-agent.service",
    "restart busbar-agent.service",
    "disable --now busbar-agent.service",
    "daemon-reload",
  ]);
  writeFileSync(file, "[Service]\n");
  const refused = await run("install", "agent", "--user", "daemon");
  expect(refused).toMatchObject({ code: 1, output: expect.stringContaining("not made by busbar") });
  expect(await run("uninstall", "agent")).toMatchObject({ code: 1 });
  expect(readFileSync(file, "utf8")).toBe("[Service]\n");
});

test("without a systemd install leaves no unit, and uninstall removes one that was only written", async () => {
  const folder = site.path("units");
  mkdirSync(folder);
  const bin = site.path("bin");
  mkdirSync(bin);
  writeFileSync(`${bin}/systemctl`, "#!/bin/sh\necho not booted with systemd >&2; exit 1\n");
  chmodSync(`${bin}/systemctl`, 0o755);
  const run = async (...args: string[]) => {
    const PATH = `${bin}:${process.env["PATH"]}`;
    const running = site.start(["service", ...args, "--unit-dir", folder], { PATH });
    return { code: await running.end(), output: running.output };
  };
  const refused = await run("install", "server");
  expect(refused).toMatchObject({ code: 1, output: expect.stringContaining("not booted") });
  expect(readdirSync(folder)).toEqual([]);
  expect(await run("install", "server", "--no-start")).toMatchObject({ code: 0 });
  expect(await run("uninstall", "server")).toMatchObject({ code: 0 });
  expect(readdirSync(folder)).toEqual([]);
});
