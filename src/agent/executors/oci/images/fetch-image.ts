import { existsSync, opendirSync, lstatSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { removeTree } from "../remove-tree.ts";
import { limits } from "../../../../limits.ts";
import type { ContainerMeans, PreparationFailure } from "../container-plan.ts";
import { runProgram, saysNodeFault } from "../run-program.ts";
import type { CachedImage, ImageCache } from "./image-cache.ts";
import { type ImageSource, stampOf } from "./image-source.ts";
import {
  describeImage,
  digestOf,
  imageFile,
  type UnpackedImage,
  usedFile,
} from "./unpacked-image.ts";

/** An image is not available; the message says why and what to do. */
export class ImageFailure extends Error {
  readonly kind: PreparationFailure["kind"];

  constructor(kind: PreparationFailure["kind"], message: string) {
    super(message);
    this.name = "ImageFailure";
    this.kind = kind;
  }
}

export interface FetchOptions {
  readonly cache: ImageCache;
  readonly means: ContainerMeans;
  readonly bootId: string;
  /** Links from runs to images: a linked image is not removed. */
  readonly runsDirectory: string;
  /** The key of the run that needs the image. */
  readonly run: string;
  readonly plannedAtMs: number;
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
    cache.evict(options.runsDirectory, options.run, Date.now());
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
  return (await run(means.programs.skopeo, args, { source, cwd: "/" })).trim();
}

const LAYOUT = "oci:layout:image";

/** Returns its digest. */
async function copyAndUnpack(
  source: ImageSource,
  incoming: string,
  { cache, means, bootId }: FetchOptions,
): Promise<string> {
  const layout = join(incoming, "layout");
  const { skopeo, umoci } = means.programs;
  // All their files are below `incoming`, by relative paths: they cannot make it anew when the run was stopped and it was removed.
  const here = { source, cwd: incoming };
  await run(skopeo, [...policyOf(), "--tmpdir", ".", "copy", "--quiet", source.name, LAYOUT], here);
  const digest = digestOf(layout);
  if (cache.byDigest(digest) !== undefined) return digest;
  const bundle = join(incoming, "image");
  const rootless = means.isRootless ? ["--rootless"] : [];
  await run(umoci, ["unpack", ...rootless, "--image", "layout:image", "image"], here);
  const image: UnpackedImage = {
    ...describeImage(layout, bundle),
    bytes: bytesBelow(join(bundle, "rootfs")),
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

async function run(
  program: string,
  args: readonly string[],
  { source, cwd }: { readonly source: ImageSource; readonly cwd: string },
): Promise<string> {
  const timeoutMs = limits.imageFetchMsMax;
  const { code, signal, stdout, stderr } = await runProgram(program, args, timeoutMs, cwd);
  if (code === 0) return stdout;
  if (code === 127) throw new ImageFailure("node-fault", stderr);
  if (signal === undefined) throw describeFailure(source, stderr);
  const minutes = limits.imageFetchMsMax / 60_000;
  const why = `image ${source.name}: not copied within ${minutes} minutes (${signal})`;
  throw new ImageFailure("could-not-start", why);
}

/** From the last messages of skopeo or umoci. */
export function describeFailure({ name, path }: ImageSource, stderr: string): ImageFailure {
  const message = lastMessage(stderr);
  const why = message.slice(0, MESSAGE_MAX) || "no reason was given";
  if (saysNodeFault(message)) return new ImageFailure("node-fault", `image ${name}: ${why}`);
  const help =
    path === undefined
      ? "check its name and tag, and that this node reaches the registry"
      : "check the file on this node, and the reference after its path";
  return new ImageFailure("could-not-start", `image ${name} cannot be read: ${why}; ${help}`);
}

/** skopeo: `time="…" level=fatal msg="…"`; umoci: "   ⨯ …". */
function lastMessage(stderr: string): string {
  const lines = stderr.split("\n").filter((line) => line.trim() !== "");
  const last = lines.findLast((line) => /level=(fatal|error)/.test(line)) ?? lines.at(-1) ?? "";
  const quoted = /msg="((?:[^"\\]|\\.)*)"/.exec(last)?.[1];
  const text = quoted === undefined ? last.trim() : quoted.replaceAll(/\\(.)/g, "$1");
  return text.replace(/^⨯\s*/, "");
}

const MESSAGE_MAX = 500;

/** Without directories that only root could read, or that lie too deep for a path: containers may use them all the same. */
export function bytesBelow(directory: string): number {
  let bytes = 0;
  const left = [directory];
  for (let at = left.pop(); at !== undefined; at = left.pop()) {
    try {
      bytes += bytesIn(at, left);
    } catch (error) {
      if (!isOf(error, ["EACCES", "ENAMETOOLONG"])) throw error;
    }
  }
  return bytes;
}

/** Adds the directories in it to `below`. */
function bytesIn(directory: string, below: string[]): number {
  let bytes = 0;
  const entries = opendirSync(directory);
  try {
    for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) below.push(path);
      else if (entry.isFile()) bytes += lstatSync(path).size;
    }
  } finally {
    entries.closeSync();
  }
  return bytes;
}

const isOf = (error: unknown, codes: readonly string[]): boolean =>
  error instanceof Error && "code" in error && codes.includes(String(error.code));
