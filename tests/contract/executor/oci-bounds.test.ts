import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, statfsSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

import { imageBounds } from "../../../src/agent/executors/oci/images/image-bounds.ts";
import type { Executor, RunEnd, RunId } from "../../../src/ports/executor.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import { header, writeImageLayout } from "../../support/container-image.ts";
import { aRequest, endOfRun } from "./executor-contract.ts";
import { inImage, makeOciBed, type OciBed } from "./oci-bed.ts";
import { describeContainers, SUCCESS } from "./oci-runs.ts";
import { shell } from "./process-behaviour.ts";

const MIB = 2 ** 20;
type FailedEnd = Extract<RunEnd, { kind: "could-not-start" | "node-fault" }>;
const id: RunId = { jobId: 1, index: 0, attempt: 1 };

describeContainers("an image that is too large", ({ directory, image }) => {
  const bounds = { ...imageBounds, bytesMax: 16 * MIB, filesMax: 2_000 };

  /** The end of a run of this image; then no copy of it is left. */
  async function endOf(bed: OciBed, executor: Executor, layout: string): Promise<RunEnd> {
    executor.start(aRequest(shell("true"), { id, container: inImage(layout) }));
    const { end } = await endOfRun(executor, id, 60_000);
    const incoming = join(bed.directory, "cache/incoming");
    await eventually(() => readdirSync(incoming).length === 0, { what: "the copy to be removed" });
    return end;
  }

  const bombs: readonly (readonly [string, () => Uint8Array, RegExp])[] = [
    [
      "a small archive of a large file",
      () => gzipSync(archiveOf([["zeros", 256 * MIB]])),
      /when unpacking it was stopped/,
    ],
    ["a sparse file of a terabyte", sparseArchive, /when unpacking it was stopped/],
    [
      "many empty files",
      () => gzipSync(archiveOf(Array.from({ length: 60_000 }, (_, at) => [`empty-${at}`, 0]))),
      /when unpacking it was stopped/,
    ],
    ["a copy that is large itself", () => randomBytes(64 * MIB), /when copying it was stopped/],
  ];
  for (const [name, makeLayer, says] of bombs) {
    test(`${name}: the task fails with the reason, and nothing is left`, async () => {
      const bed = makeOciBed(image, { imageBounds: bounds });
      const executor = await bed.open();
      const layers = [makeLayer()];
      const layout = writeImageLayout(join(directory, name), { layers });
      const { kind, message } = (await endOf(bed, executor, layout)) as FailedEnd;
      await executor.close();
      await bed.dispose();
      expect(kind).toBe("could-not-start");
      expect(message).toMatch(says);
      const limit = "an image may have 16MiB in 2000 files; make it smaller";
      expect(message).toContain(`image ${layout} is too large: `);
      expect(message).toContain(limit);
      expect(Number(/ in (\d+) files when/.exec(message)?.[1])).toBeLessThan(59_000);
    });
  }

  // Containers may be possible where mounting a disk is not: for users with namespaces of their own.
  const canMount = process.getuid?.() === 0;

  test.skipIf(!canMount)(
    "within the limits, but not for the free space: the node is at fault, and other tasks go on",
    async () => {
      await withDisk("fills", async (bed, executor) => {
        const other = { ...id, jobId: 2 };
        const text = "echo ready; while [ ! -e /m/go ]; do sleep 0.05; done";
        const mounts = [{ source: directory, target: "/m", writable: false }];
        executor.start(aRequest(shell(text), { id: other, container: inImage(image, { mounts }) }));
        await executor.readOutput(other, "stdout", { offset: 0, maxBytes: 9, waitMs: 20_000 });
        const layers = [gzipSync(archiveOf([["zeros", 256 * MIB]]))];
        const layout = writeImageLayout(join(directory, "fills"), { layers });
        const { kind, message } = (await endOf(bed, executor, layout)) as FailedEnd;
        expect(kind).toBe("node-fault");
        // The disk of the test is so small that umoci may fill it between two looks.
        expect(message).toMatch(/^the disk is full: image oci:|: no space left on device$/);
        writeFileSync(join(directory, "go"), "");
        expect((await endOfRun(executor, other)).end).toEqual(SUCCESS);
      });
    },
  );

  test.skipIf(!canMount)(
    "for the reserve of the disk is not begun, though it would fit",
    async () => {
      await withDisk("reserve", async (bed, executor) => {
        const { bavail, bsize } = statfsSync(bed.directory);
        writeFileSync(join(bed.directory, "filler"), Buffer.alloc(bavail * bsize - 1.9 * MIB));
        const layout = writeImageLayout(join(directory, "reserve"));
        const { kind, message } = (await endOf(bed, executor, layout)) as FailedEnd;
        expect(kind).toBe("node-fault");
        expect(message).toMatch(/^the disk is full: image oci:.*; make room on this node$/);
      });
    },
  );

  /** A bed whose images are on a disk of 64 MiB: the reserve is 2 MiB of it. */
  async function withDisk(
    name: string,
    body: (bed: OciBed, executor: Executor) => Promise<void>,
  ): Promise<void> {
    const disk = join(directory, `disk-${name}`);
    mkdirSync(disk, { recursive: true });
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64m", "tmpfs", disk]);
    expect(mounted.status).toBe(0);
    const bed = makeOciBed(image, { kept: disk });
    try {
      const executor = await bed.open();
      try {
        await body(bed, executor);
      } finally {
        await executor.close();
      }
    } finally {
      await bed.dispose();
      spawnSync("umount", [disk]);
    }
  }

  /** An archive of files of zeros. */
  function archiveOf(files: readonly (readonly [name: string, size: number])[]): Buffer {
    const parts = files.flatMap(([name, size]) => [
      header({ name, mode: 0o644, type: "0", size }),
      Buffer.alloc(Math.ceil(size / 512) * 512),
    ]);
    return Buffer.concat([...parts, Buffer.alloc(1_024)]);
  }

  function sparseArchive(): Buffer {
    const below = join(directory, "sparse");
    mkdirSync(below, { recursive: true });
    writeFileSync(join(below, "sparse"), "");
    truncateSync(join(below, "sparse"), 2 ** 40);
    const { stdout } = spawnSync("tar", [
      "-C",
      below,
      "--format=posix",
      "--sparse",
      "-c",
      "sparse",
    ]);
    expect(stdout.length).toBeLessThan(MIB);
    return stdout;
  }
});
