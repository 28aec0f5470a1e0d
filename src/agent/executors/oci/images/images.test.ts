import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { limits } from "../../../../limits.ts";
import { fetchImage } from "./fetch-image.ts";
import { imageBounds } from "./image-bounds.ts";
import { ImageCache } from "./image-cache.ts";
import { describeFailure } from "./image-failure.ts";
import { stampOf, toImageSource } from "./image-source.ts";
import { imageFile, type UnpackedImage, usedFile } from "./unpacked-image.ts";

describe("the source of an image", () => {
  const cases = [
    ["docker-archive:/a/b.tar:tool:1", "docker-archive:/a/b.tar:tool:1", "/a/b.tar", false],
    ["oci:/layout:v1", "oci:/layout:v1", "/layout", false],
    ["alpine", "docker://alpine", undefined, true],
    ["alpine:latest", "docker://alpine:latest", undefined, true],
    ["docker://host:5000/a/b", "docker://host:5000/a/b", undefined, true],
    ["host:5000/a/b:3", "docker://host:5000/a/b:3", undefined, false],
    [`a@sha256:${"0".repeat(64)}`, `docker://a@sha256:${"0".repeat(64)}`, undefined, false],
    [
      `h:1/a:2@sha256:${"0".repeat(64)}`,
      `docker://h:1/a@sha256:${"0".repeat(64)}`,
      undefined,
      false,
    ],
  ] as const;
  for (const [image, name, path, moves] of cases) {
    test(image, () => expect(toImageSource(image)).toEqual({ name, path, moves }));
  }
});

describe("who is at fault when an image is not available", () => {
  const line = (msg: string): string => `time="2026-01-01T00:00:00Z" level=fatal msg="${msg}"\n`;
  const file = toImageSource("docker-archive:/a.tar:x:1");
  const registry = toImageSource("tool:1");

  test("the task, for an unknown tag", () => {
    const { kind, message } = describeFailure(file, line('Tag \\"x:1\\" not found'));
    expect(kind).toBe("could-not-start");
    expect(message).toMatch(
      /^image docker-archive:.a[.]tar:x:1 .*Tag "x:1" not found; check the file/,
    );
  });
  test("the task, for a registry that does not answer", () => {
    const { kind, message } = describeFailure(registry, line("dial tcp: i/o timeout"));
    expect([kind, message]).toEqual([
      "could-not-start",
      "image docker://tool:1 cannot be read: dial tcp: i/o timeout; check its name and tag, and that this node reaches the registry",
    ]);
  });
  test("the node, for a full disk, whichever program reports it", () => {
    for (const said of [
      line("write /x: no space left on device"),
      "   ⨯ unpack: disk quota exceeded",
    ]) {
      expect(describeFailure(file, said).kind).toBe("node-fault");
    }
  });
  test("the task, when a name in the image says so, or an earlier message", () => {
    for (const said of [
      "   ⨯ unpack entry: no space left on device: invalid path",
      `${line("x: no space left on device")}${line("unknown tag")}`,
    ]) {
      expect(describeFailure(file, said).kind).toBe("could-not-start");
    }
  });
  test("a failure without a message is no crash", () => {
    expect(describeFailure(file, "").message).toContain("no reason was given");
  });
});

describe("the image cache", () => {
  let directory: string;
  let cache: ImageCache;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "busbar-cache-"));
    cache = new ImageCache(join(directory, "cache"), "boot-1");
    cache.make();
    mkdirSync(join(directory, "runs"));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  const digestOf = (number: number): string => `sha256:${String(number).padStart(64, "0")}`;

  function unpack(number: number, over: Partial<UnpackedImage> = {}): string {
    const to = join(directory, `unpacked-${number}`);
    mkdirSync(join(to, "rootfs"), { recursive: true });
    const image: UnpackedImage = {
      digest: digestOf(number),
      args: ["x"],
      env: [],
      cwd: "/",
      user: { uid: 0, gid: 0 },
      bytes: 1,
      bootId: "boot-1",
      unpackedAtMs: Date.now(),
      ...over,
    };
    writeFileSync(imageFile(to), JSON.stringify(image));
    writeFileSync(usedFile(to), "");
    return to;
  }
  function add(number: number, usedAgoMs: number, over: Partial<UnpackedImage> = {}): void {
    const source = toImageSource(`tool:${number}`);
    cache.add(source, unpack(number, over), { stamp: "registry", digest: digestOf(number) });
    const used = new Date(Date.now() - usedAgoMs);
    utimesSync(usedFile(cache.pathOf(digestOf(number))), used, used);
  }
  const isThere = (number: number): boolean => existsSync(cache.pathOf(digestOf(number)));

  test("finds added images, and the image of a file only while the file is unchanged", () => {
    add(1, 0);
    expect(cache.find(toImageSource("tool:1"))?.digest).toBe(digestOf(1));
    expect(cache.find(toImageSource("tool:2"))).toBeUndefined();
    const path = join(directory, "a.tar");
    writeFileSync(path, "one");
    const source = toImageSource(`docker-archive:${path}`);
    const stamp = stampOf(source) ?? expect.fail("it is there");
    cache.add(source, unpack(2), { stamp, digest: digestOf(2) });
    expect(cache.find(source)?.digest).toBe(digestOf(2));
    writeFileSync(path, "other");
    expect(cache.find(source)).toBeUndefined();
  });

  test("of two processes that unpack the same image, the first image stays", () => {
    add(1, 0);
    writeFileSync(join(cache.pathOf(digestOf(1)), "rootfs/mark"), "");
    add(1, 0);
    expect(existsSync(join(cache.pathOf(digestOf(1)), "rootfs/mark"))).toBe(true);
  });

  test("after a restart of the machine an image counts if it had time to reach the disk", () => {
    const longAgo = Date.now() - 2 * limits.imageSettleMs;
    add(1, 0, { bootId: "boot-0" });
    add(2, 0, { bootId: "boot-0", unpackedAtMs: longAgo });
    expect([1, 2].map((number) => cache.byDigest(digestOf(number)) !== undefined)).toEqual([
      false,
      true,
    ]);
  });

  test("beyond its limits it removes the least recently used images, except those in use and those just used", () => {
    const old = limits.imageIdleMsMin + 1_000_000;
    for (let number = 1; number <= limits.imagesMax + 3; number++) add(number, old - number);
    mkdirSync(join(directory, "runs/1.0.1/0"), { recursive: true });
    symlinkSync(join(cache.pathOf(digestOf(1)), "rootfs"), join(directory, "runs/1.0.1/0/image"));
    add(2, 0);
    cache.evict(join(directory, "runs"), "9.0.1", {
      nowMs: Date.now(),
      bytesMax: limits.imageBytesMax,
    });
    expect([1, 2, 3, 4, 5, 6].map(isThere)).toEqual([true, true, false, false, false, true]);
  });

  test("the limit of bytes holds too", () => {
    add(1, limits.imageIdleMsMin * 3, { bytes: limits.imageBytesMax });
    add(2, limits.imageIdleMsMin * 2, { bytes: 1 });
    cache.evict(join(directory, "runs"), "9.0.1", {
      nowMs: Date.now(),
      bytesMax: limits.imageBytesMax,
    });
    expect([1, 2].map(isThere)).toEqual([false, true]);
  });

  test("runs that were planned before a registry answered use its answer", async () => {
    const source = toImageSource("tool:latest");
    const log = join(directory, "asked");
    const skopeo = join(directory, "skopeo");
    writeFileSync(skopeo, `#!/bin/sh\necho asked >>${log}\necho sha256:new\n`, { mode: 0o755 });
    const unused = { runc: "", umoci: "", unshare: "", flock: "", setsid: "" };
    const means = {
      programs: { ...unused, skopeo },
      isRootless: false,
      root: "copy",
      memory: false,
      swap: false,
      cpu: "none",
      isUnified: false,
    } as const;
    add(1, 0);
    const known = { stamp: "registry", digest: digestOf(1), sourceDigest: "sha256:new" };
    cache.remember(source, known);
    const fetchFor = (plannedAtMs: number) =>
      fetchImage(source, {
        cache,
        means,
        bootId: "boot-1",
        runsDirectory: join(directory, "runs"),
        run: "9.0.1",
        plannedAtMs,
        bounds: imageBounds,
      });
    const asks = (): number => readFileSync(log, "utf8").split("\n").length - 1;
    const firstMs = Date.now();
    for (let run = 0; run < 3; run++) expect((await fetchFor(firstMs)).digest).toBe(digestOf(1));
    expect(asks()).toBe(1);
    await fetchFor(Date.now() + 1);
    expect(asks()).toBe(2);
    cache.remember(source, { ...known, askedAtMs: Date.now() + 3_600_000 });
    await fetchFor(firstMs);
    expect(asks()).toBe(3);
  });

  test("it finds images that were being copied for runs that have ended", () => {
    const [one, two] = [cache.makeIncoming("1.0.1"), cache.makeIncoming("2.0.1")];
    const earlier = join(cache.directory, "incoming/4711-x"); // an earlier version wrote the pid
    mkdirSync(earlier);
    const active = new Set(["1.0.1"]);
    expect(cache.incomingOf((run) => run === "1.0.1")).toEqual([one]);
    expect(cache.incomingOf((run) => !active.has(run)).toSorted()).toEqual(
      [two, earlier].toSorted(),
    );
  });
});
