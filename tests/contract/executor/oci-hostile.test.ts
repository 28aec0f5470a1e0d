import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { header, writeImageLayout } from "../../support/container-image.ts";
import { describeContainers, OciRuns } from "./oci-runs.ts";

interface Entry {
  readonly name: string;
  /** Of tar: "0" a file, "1" a hard link, "2" a link, "6" a FIFO. */
  readonly type: string;
  readonly link?: string;
}

const archiveOf = (entries: readonly Entry[]): Buffer =>
  Buffer.concat([
    ...entries.map((entry) => header({ ...entry, mode: 0o755 })),
    Buffer.alloc(1_024),
  ]);

describeContainers("a hostile image", (world) => {
  const { directory } = world;
  const runs = new OciRuns(world);
  const outside = join(directory, "outside");
  const climb = `${"../".repeat(12)}${outside.slice(1)}`;
  const victim = join(outside, "victim");

  // Each would write or remove a file outside of its root, or stop the program that unpacks it.
  const images: readonly (readonly [string, readonly Entry[], RegExp])[] = [
    ["a file below a link", linkThen(outside, "made"), /^exited/],
    ["a file below a link that climbs", linkThen(climb, "made"), /^exited/],
    ["a whiteout below a link", linkThen(outside, ".wh.victim"), /^exited/],
    ["a whiteout of the parent directory", [{ name: ".wh...", type: "0" }], /^could-not-start/],
    ["a whiteout that climbs", [{ name: `${climb}/.wh.victim`, type: "0" }], /^exited/],
    ["a hard link that climbs", [{ name: "x", type: "1", link: climb }], /^could-not-start/],
    ["a link as its root", [{ name: ".", type: "2", link: outside }], /^could-not-start.*root/],
    ["a link at /proc", [{ name: "proc", type: "2", link: outside }], /^could-not-start.*proc/],
    ["a link at /sys", [{ name: "sys", type: "2", link: outside }], /^could-not-start.*sys/],
    ["a link at /run", [{ name: "run", type: "2", link: outside }], /^exited/],
    ["links at /etc/hosts", [{ name: "etc/hosts", type: "2", link: victim }], /^exited/],
    [
      "a FIFO at /etc/passwd",
      [{ name: "etc/passwd", type: "6" }],
      /^could-not-start.* has a FIFO, a device or a socket at .etc.passwd, not a file$/,
    ],
  ];
  for (const [name, entries, ends] of images) {
    test(`with ${name} leaves the machine as it was`, async () => {
      mkdirSync(outside, { recursive: true });
      writeFileSync(victim, "unchanged");
      const image = writeImageLayout(join(directory, name), { layers: [archiveOf(entries)] });
      const { end } = await runs.inside("true", { image });
      expect(`${end.kind} ${"message" in end ? end.message : ""}`).toMatch(ends);
      expect(readdirSync(outside)).toEqual(["victim"]);
      expect(readFileSync(victim, "utf8")).toBe("unchanged");
      await runs.nothingLeft();
    });
  }

  test("with a name that is no text runs", async () => {
    const block = header({ name: "f\u00ff\u00fe", mode: 0o644, type: "0" });
    const layers = [Buffer.concat([block, Buffer.alloc(1_024)])];
    const image = writeImageLayout(join(directory, "latin"), { layers });
    expect((await runs.inside("set -- /f*; echo ${#1}", { image })).end.kind).toBe("exited");
  });

  function linkThen(link: string, name: string): readonly Entry[] {
    return [
      { name: "s", type: "2", link },
      { name: `s/${name}`, type: "0" },
    ];
  }
});
