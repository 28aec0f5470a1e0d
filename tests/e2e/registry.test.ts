import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { Site } from "../support/busbar.ts";
import { whyNoContainers, writeImageLayout } from "../support/container-image.ts";
import { Registry, whyNoRegistry } from "../support/registry.ts";

const why = (await whyNoContainers()) ?? whyNoRegistry();
if (why === undefined) describeRegistry();
else describe("images of a registry", () => test.skip(`not here: ${why}`, () => undefined));

function describeRegistry(): void {
  const directory = mkdtempSync(join(tmpdir(), "busbar-registry-"));
  const layoutOf = (tag: string): string =>
    writeImageLayout(join(directory, tag), { tag, files: { "etc/which": `${tag}\n` } });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  let site: Site;
  afterEach(() => site.close());

  const failed = (reason: string | RegExp) => ({
    code: 127,
    stderr: expect.stringMatching(reason) as string,
  });

  test("by tag, by digest, for this architecture of several, with credentials and without encryption; fetched once", async () => {
    site = new Site();
    const registry = await Registry.start(site);
    const { address } = registry;
    const digest = await registry.push(layoutOf("v1"), "team/tool:v1");
    const other = await registry.push(layoutOf("v2"), "team/tool:v2");
    const own = { x64: "amd64" }[process.arch as string] ?? process.arch;
    await registry.pushIndex("team/tool:all", { s390x: other, [own]: digest });
    await site.startServer();
    const home = registry.writeHome(site.path("home"), { hasPassword: true });
    await site.startAgent("a1", "--cpu", "8", "--task-env", `HOME=${home}`);
    const run = (image: string, ...flags: string[]) =>
      site.run("run", "--image", `${address}/${image}`, ...flags, "--", "cat", "/etc/which");
    // All at once, when the image is not there yet.
    const first = await run("team/tool:v1", "--array", "1-8");
    expect([first.stderr, first.code, first.stdout.match(/v1$/gm)?.length]).toEqual(["", 0, 8]);
    expect(registry.fetchesOf("team/tool/manifests/v1")).toBe(1);
    for (const image of [`team/tool@${digest}`, "team/tool:all"]) {
      expect([image, await run(image)]).toEqual([image, { code: 0, stdout: "v1\n", stderr: "" }]);
    }
    expect(await run("team/tool:nosuch")).toMatchObject(
      failed(/team\/tool:nosuch cannot be read: .*manifest unknown.*check its name and tag/),
    );
    expect(await run("team/nosuch:v1")).toMatchObject(failed(/cannot be read: .*unknown/));
    expect(await run(`team/tool@sha256:${"0".repeat(64)}`)).toMatchObject(
      failed(/cannot be read: .*manifest unknown/),
    );
    await registry.stop();
    expect(await run("team/tool:v2")).toMatchObject(
      failed(/cannot be read: .*connection refused.*reaches the registry/),
    );
    expect(await run("team/tool:v1")).toMatchObject({ code: 0, stdout: "v1\n" }); // in the cache
  });

  test("without credentials, or without the setting for no encryption, the reason says it", async () => {
    site = new Site();
    const registry = await Registry.start(site);
    await site.startServer();
    await site.startAgent("bare");
    const run = (...flags: string[]) =>
      site.run("run", "--image", `${registry.address}/tool:v1`, ...flags, "--", "true");
    expect(await run()).toMatchObject(failed(/server gave HTTP response to HTTPS client/));
    const home = registry.writeHome(site.path("home"), { hasPassword: false });
    await site.startAgent("open", "--task-env", `HOME=${home}`);
    expect(await run("--node", "open")).toMatchObject(
      failed(/cannot be read: .*(authentication required|unauthorized)/),
    );
  });
}
