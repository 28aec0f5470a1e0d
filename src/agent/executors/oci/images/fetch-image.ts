import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { removeTree } from "../remove-tree.ts";
import { limits } from "../../../../limits.ts";
import type { ContainerMeans } from "../container-plan.ts";
import { type ProgramEnd, runProgram } from "../run-program.ts";
import type { DiskUse } from "./disk-use.ts";
import { type ImageBounds, withinBounds } from "./image-bounds.ts";
import type { CachedImage, ImageCache } from "./image-cache.ts";
import { findSpecialUserFile } from "./user-files.ts";
import { describeExcess, describeFailure, ImageFailure } from "./image-failure.ts";
import { type ImageSource, stampOf } from "./image-source.ts";
import {
  describeImage,
  digestOf,
  imageFile,
  type UnpackedImage,
  usedFile,
} from "./unpacked-image.ts";

export interface FetchOptions {
  readonly cache: ImageCache;
  readonly means: ContainerMeans;
  readonly bootId: string;
  /** Links from runs to images: a linked image is not removed. */
  readonly runsDirectory: string;
  /** The key of the run that needs the image. */
  readonly run: string;
  readonly plannedAtMs: number;
  readonly bounds: ImageBounds;
}

/** The image, copied and unpacked if it is not in the cache. Throws ImageFailure. */
export async function fetchImage(source: ImageSource, options: FetchOptions): Promise<CachedImage> {
  const { cache } = options;
  const known = cache.find(source);
  if (known !== undefined) return known;
  const stamp = stampOf(source);
  if (stamp === undefined) {
    throw new ImageFailure(
      "could-not-start",
      `image ${source.name}: there is no ${source.path} on this node; put it there, or name an image of a registry`,
    );
  }
  const asked = source.moves ? await askOnce(source, options) : undefined;
  if (asked !== undefined && "image" in asked) return asked.image;
  const incoming = cache.makeIncoming(options.run);
  try {
    const digest = await copyAndUnpack(source, incoming, options);
    const reference = { stamp, digest, ...asked };
    cache.add(source, join(incoming, "image"), reference);
    const added = cache.byDigest(digest);
    if (added === undefined)
      throw new ImageFailure("node-fault", `image ${source.name} was removed`);
    cache.touch(added);
    const bytesMax = Math.max(limits.imageBytesMax, options.bounds.bytesMax);
    cache.evict(options.runsDirectory, options.run, { nowMs: Date.now(), bytesMax });
    return added;
  } finally {
    removeTree(incoming);
  }
}

interface Asked {
  readonly sourceDigest: string;
  readonly askedAtMs: number;
}

/** Of many runs that start at once few ask, one after the other: registries are slow, and count requests. */
async function askOnce(
  source: ImageSource,
  { cache, means, plannedAtMs }: FetchOptions,
): Promise<Asked | { readonly image: CachedImage }> {
  const before = cache.referenceOf(source);
  const image = before && cache.byDigest(before.digest);
  const askedAtMs = Date.now();
  const lastMs = before?.askedAtMs ?? 0;
  // Not after now: the clock may have been set back.
  if (image !== undefined && lastMs >= plannedAtMs && lastMs <= askedAtMs) return { image };
  const asked = { sourceDigest: await askRegistry(source, means), askedAtMs };
  if (image === undefined || before?.sourceDigest !== asked.sourceDigest) return asked;
  cache.remember(source, { ...before, ...asked });
  return { image };
}

async function askRegistry(source: ImageSource, means: ContainerMeans): Promise<string> {
  const args = [...policyOf(), "inspect", "--format", "{{.Digest}}", source.name];
  const timeoutMs = limits.imageFetchMsMax;
  const end = await runProgram(means.programs.skopeo, args, { timeoutMs, cwd: "/" });
  return outputOf(end, source).trim();
}

const LAYOUT = "oci:layout:image";

/** Returns its digest. */
async function copyAndUnpack(
  source: ImageSource,
  incoming: string,
  { cache, means, bootId, bounds }: FetchOptions,
): Promise<string> {
  const layout = join(incoming, "layout");
  const { skopeo, umoci } = means.programs;
  const copy = [...policyOf(), "--tmpdir", ".", "copy", "--quiet", source.name, LAYOUT];
  await grow([skopeo, ...copy], { source, doing: "copying", incoming, into: ".", bounds });
  const digest = digestOf(layout);
  if (cache.byDigest(digest) !== undefined) return digest;
  const bundle = join(incoming, "image");
  mkdirSync(bundle, { mode: 0o700 });
  // In two steps: umoci must not open the files of an image before they were checked.
  const from = [...(means.isRootless ? ["--rootless"] : []), "--image", "layout:image"];
  const unpack = ["raw", "unpack", ...from, "image/rootfs"];
  const into = { source, doing: "unpacking", incoming, into: "image", bounds };
  const { bytes } = await grow([umoci, ...unpack], into);
  const special = findSpecialUserFile(join(bundle, "rootfs"));
  if (special !== undefined) {
    const what = `image ${source.name} has a FIFO, a device or a socket at ${special}, not a file`;
    throw new ImageFailure("could-not-start", what);
  }
  const describe = ["raw", "config", ...from, "--rootfs", "image/rootfs", "image/config.json"];
  const how = { timeoutMs: limits.containerProgramMsMax, cwd: incoming };
  outputOf(await runProgram(umoci, describe, how), source);
  const image: UnpackedImage = {
    ...describeImage(layout, bundle),
    bytes,
    bootId,
    unpackedAtMs: Date.now(),
  };
  writeFileSync(imageFile(bundle), JSON.stringify(image));
  writeFileSync(usedFile(bundle), "");
  return digest;
}

/** The operator decides which signatures images must have; the default requires none. */
const policyOf = (): readonly string[] =>
  existsSync("/etc/containers/policy.json") ? [] : ["--insecure-policy"];

/**
 * Runs a program that fills a directory. All its files are below `incoming`, by relative paths: it cannot make them anew when the run was
 * stopped and they were removed.
 */
async function grow(
  [program = "", ...args]: readonly string[],
  image: {
    readonly source: ImageSource;
    readonly doing: string;
    readonly incoming: string;
    readonly into: string;
    readonly bounds: ImageBounds;
  },
): Promise<DiskUse> {
  const { source, incoming, into, bounds } = image;
  const how = { timeoutMs: limits.imageFetchMsMax, cwd: incoming };
  const { result, use, excess } = await withinBounds(join(incoming, into), bounds, (signal) =>
    runProgram(program, args, { ...how, signal }),
  );
  if (excess !== undefined) throw describeExcess(source, excess, { ...image, use });
  outputOf(result, source);
  return use;
}

/** Throws ImageFailure when the program failed. */
function outputOf({ code, signal, stdout, stderr }: ProgramEnd, source: ImageSource): string {
  if (code === 0) return stdout;
  if (code === 127) throw new ImageFailure("node-fault", stderr);
  if (signal === undefined) throw describeFailure(source, stderr);
  const minutes = limits.imageFetchMsMax / 60_000;
  const why = `image ${source.name}: not copied within ${minutes} minutes (${signal})`;
  throw new ImageFailure("could-not-start", why);
}
