import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Site } from "../support/busbar.ts";
import { checkout, PackageBed } from "../support/package-bed.ts";

const NOBODY = 65_534;
const bed = new PackageBed();
const site = new Site();
/** A folder with only `npm install ./busbar-*.tgz`. */
let folder = "";
/** The command as `npm install -g` installs it. */
let globalCommand = "";

beforeAll(async () => {
  await bed.pack();
  folder = await bed.install("consumer");
  const prefix = bed.path("global");
  await bed.install("elsewhere", "--global", "--prefix", prefix);
  globalCommand = join(prefix, "bin/busbar");
  const running = site.startProgram(
    ["up", "--data", site.path("data"), "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"],
    { program: globalCommand, cwd: site.directory, env: { PATH: bed.searchPath() } },
  );
  site.server = await running.prints(/gRPC:\s+(\S+:\d+)/);
  site.http = await running.prints(/REST:\s+(http:\S+)/);
  await running.prints(/Try: {2}busbar --server/);
}, 300_000);
afterAll(async () => {
  await site.close();
  bed.close();
});

describe("the tarball", () => {
  test("has the files that run, and nothing else", async () => {
    const list = (await bed.must("tar", ["tzf", bed.tarball])).split("\n").filter(Boolean);
    const outside = list.filter((path) => !/^package\/(?:dist|proto)\//.test(path)).toSorted();
    expect(outside).toEqual(
      ["LICENSE", "README.md", "busbar", "package.json"].map((name) => `package/${name}`),
    );
    expect(list.filter((path) => /test|bench|\/testing\//.test(path))).toEqual([]);
    expect(list.filter((path) => path.endsWith(".ts") && !path.endsWith(".d.ts"))).toEqual([]);
    expect(list).toContain(`package/dist/native/launcher-linux-${process.arch}`);
    expect(list).toContain(`package/dist/native/attach-linux-${process.arch}`);
    expect(list).toContain("package/dist/LICENSES.txt");
  });

  test("has the native launcher of the machine that packs where there is no zig", async () => {
    const script = fileURLToPath(new URL("../../native/compile.ts", import.meta.url));
    const env = { PATH: "/usr/bin:/bin", PYTHON: "no-such-python" };
    const made = bed.path("launchers");
    const ran = await bed.exec(process.execPath, [script, "all", made], { env });
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining("PYTHON=~/zig") });
    expect(readdirSync(join(made, "dist/native")).toSorted()).toEqual(
      [`attach-linux-${process.arch}`, `launcher-linux-${process.arch}`].toSorted(),
    );
  });

  test("runs in an empty folder on the Node that npm installed beside it", async () => {
    const env = { PATH: bed.searchPath() };
    const ran = await bed.exec("npx", ["--no", "busbar", "version"], { cwd: folder, env });
    expect(ran).toMatchObject({ code: 0, stdout: "busbar 0.1.0\n" });
  });

  test("runs on the system's Node only when that is new enough", async () => {
    const old = bed.path("old");
    mkdirSync(old);
    writeFileSync(join(old, "node"), "#!/bin/sh\necho v20.1.0\n");
    chmodSync(join(old, "node"), 0o755);
    const PATH = `${old}:${bed.searchPath()}`;
    // As `npm install --omit=optional` leaves it.
    const without = bed.path("without-node");
    const isNode = (path: string): boolean => /\/node_modules\/(?:node-|\.bin)/.test(path);
    const from = bed.path("global/lib/node_modules/busbar");
    cpSync(from, without, { recursive: true, filter: (path) => !isNode(path) });
    const command = join(without, "busbar");
    const refused = await bed.exec(command, ["version"], { env: { PATH } });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/needs Node 26 or newer; .* the system has v20\.1\.0/);
    const env = { PATH: bed.searchPath("with-node") };
    const taken = await bed.exec(command, ["version"], { env });
    expect(taken.stdout).toBe("busbar 0.1.0\n");
  });
});

describe("installed globally", () => {
  test("busbar up runs jobs and serves its pages", async () => {
    const env = { PATH: bed.searchPath(), BUSBAR_SERVER: site.server };
    const ran = await bed.exec(globalCommand, ["run", "--", "echo", "hello"], { env });
    expect(ran).toEqual({ code: 0, stdout: "hello\n", stderr: "" });
    for (const path of ["/docs", "/docs/swagger-ui-bundle.js", "/graphql/explorer.js"]) {
      expect((await fetch(site.http + path)).status, path).toBe(200);
    }
  });

  test("an agent of the same tarball joins from another folder, as another user", async () => {
    const home = bed.path("second-machine");
    mkdirSync(home);
    // Where the tests do not run as root, it is the same user.
    const isRoot = process.getuid?.() === 0;
    chmodSync(bed.directory, 0o755);
    if (isRoot) chownSync(home, NOBODY, NOBODY);
    const joining = ["agent", "--server", site.server, "--name", "second"];
    const agent = [...joining, "--data", join(home, "agent"), "--log-level", "info"];
    const own = join(folder, "node_modules/.bin/busbar");
    const [program, args] = isRoot
      ? ["setpriv", [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", own, ...agent]]
      : [own, agent];
    const env = { PATH: bed.searchPath(), HOME: home };
    const running = site.startProgram(args, { program, cwd: home, env });
    await site.nodeIs("second", "connected");
    const { stdout } = await site.run("run", "--node", "second", "--", "id", "-u");
    expect(stdout).toBe(isRoot ? `${NOBODY}\n` : `${process.getuid?.()}\n`);
    expect(running.output).not.toContain("launcher in Perl");
  });
});

describe("short commands load little", () => {
  /** Writes down which files were loaded, and which modules of Node. */
  const PROBE = `import { registerHooks } from "node:module";
import { writeFileSync } from "node:fs";
const before = new Set(process.moduleLoadList);
const files = [];
registerHooks({ load: (url, context, next) => (url.startsWith("file:") && files.push(url), next(url, context)) });
process.on("exit", () => {
  const modules = process.moduleLoadList.filter((name) => !before.has(name));
  writeFileSync(process.env.PROBE_OUTPUT, JSON.stringify({ files, modules }));
});
`;

  test.each([
    ["version", 5],
    ["jobs", 14],
    ["nodes", 16],
    ["submit -- true", 14],
    ["run -- true", 18],
  ])("busbar %s", async (line, filesMax) => {
    const probe = bed.path("probe.mjs");
    const output = bed.path("loaded.json");
    writeFileSync(probe, PROBE);
    const env = {
      PATH: bed.searchPath(),
      BUSBAR_SERVER: site.server,
      NODE_OPTIONS: `--import ${probe}`,
      PROBE_OUTPUT: output,
    };
    const ran = await bed.exec(globalCommand, line.split(" "), { env });
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    const loaded = JSON.parse(readFileSync(output, "utf8")) as {
      readonly files: readonly string[];
      readonly modules: readonly string[];
    };
    expect(loaded.files.length).toBeGreaterThan(0);
    expect(loaded.files.length).toBeLessThanOrEqual(filesMax);
    // TLS alone takes longer than the rest of a command, and so do protobuf's descriptors.
    expect(loaded.modules.join("\n")).not.toMatch(
      /NativeModule (?:http2|https?|tls|crypto|zlib)$/m,
    );
    const texts = loaded.files.map((url) => readFileSync(fileURLToPath(url), "utf8"));
    expect(texts.filter((text) => /\bfileDesc\(/.test(text))).toEqual([]);
  });
});

describe("the client of the package", () => {
  const TSCONFIG = {
    compilerOptions: {
      module: "nodenext",
      target: "esnext",
      lib: ["esnext"],
      types: ["node"],
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      skipLibCheck: false,
    },
    files: ["client.ts"],
  };
  const tsc = join(checkout, "node_modules/.bin/tsc");

  test("has types that a strict project of a user can check against", async () => {
    cpSync(join(checkout, "examples/client.ts"), join(folder, "client.ts"));
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(TSCONFIG));
    for (const name of ["@types/node", "undici-types"]) {
      mkdirSync(join(folder, "node_modules/@types"), { recursive: true });
      symlinkSync(join(checkout, "node_modules", name), join(folder, "node_modules", name));
    }
    expect(await bed.exec(tsc, [], { cwd: folder })).toEqual({ code: 0, stdout: "", stderr: "" });
    const wrong =
      'import { connect } from "busbar";\nconnect().submitJobs({ jobs: [{ spek: {} }] });\n';
    writeFileSync(join(folder, "wrong.ts"), wrong);
    const refused = { ...TSCONFIG, files: ["wrong.ts"] };
    writeFileSync(join(folder, "tsconfig.wrong.json"), JSON.stringify(refused));
    const { stdout } = await bed.exec(tsc, ["-p", "tsconfig.wrong.json"], { cwd: folder });
    expect(stdout).toMatch(/wrong\.ts\(2,\d+\).*'spek' does not exist/);
  });

  test("runs the example of docs/install.md", async () => {
    const env = { BUSBAR_SERVER: site.server };
    const ran = await bed.exec(process.execPath, ["client.ts"], { cwd: folder, env });
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    expect(ran.stdout).toMatch(/^job \d+ succeeded\nhello from \S+\n$/);
    const gone = { BUSBAR_SERVER: "127.0.0.1:1" };
    const failed = await bed.exec(process.execPath, ["client.ts"], { cwd: folder, env: gone });
    expect(failed.code).toBe(1);
    expect(failed.stderr).toMatch(/^unavailable: /);
  });
});
