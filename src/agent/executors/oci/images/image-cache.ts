import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";

import { removeTree } from "../remove-tree.ts";
import { makeDirectory } from "../../../../lib/make-directory.ts";
import { limits } from "../../../../limits.ts";
import { type ImageSource, sourceKey, stampOf } from "./image-source.ts";
import { imageFile, type UnpackedImage, usedFile } from "./unpacked-image.ts";

/** An unpacked image of the cache. */
export interface CachedImage extends UnpackedImage {
  readonly directory: string;
}

interface Reference {
  readonly stamp: string;
  readonly digest: string;
  /** The digest in the registry, and when it was asked for. */
  readonly sourceDigest?: string;
  readonly askedAtMs?: number;
}

/**
 * Unpacked images, each once:
 *
 *   directory/images/<digest>/     rootfs, image.json, used
 *   directory/names/<key>.json     the image of a name
 *   directory/incoming/<run>-…/    being copied and unpacked for this run; moved to images/ when it is complete
 *   directory/locks/               see `lockOf`
 *
 * Several processes use it at once, and any of them may be killed: everything in images/ is complete because it was moved there, and of two
 * processes that unpack the same image the second finds it there.
 */
export class ImageCache {
  readonly directory: string;
  readonly #bootId: string;

  constructor(directory: string, bootId: string) {
    this.directory = directory;
    this.#bootId = bootId;
  }

  make(): void {
    for (const name of ["images", "names", "incoming", "locks"]) {
      makeDirectory(join(this.directory, name));
    }
  }

  /** undefined: it must be copied, or the registry queried. */
  find(source: ImageSource): CachedImage | undefined {
    if (source.moves) return undefined;
    const stamp = stampOf(source);
    const reference = this.referenceOf(source);
    if (stamp === undefined || reference?.stamp !== stamp) return undefined;
    return this.byDigest(reference.digest);
  }

  /** undefined: it is not in the cache, or may not have reached the disk before the machine restarted. */
  byDigest(digest: string): CachedImage | undefined {
    const directory = this.pathOf(digest);
    try {
      const image = JSON.parse(readFileSync(imageFile(directory), "utf8")) as UnpackedImage;
      const usedAtMs = statSync(usedFile(directory)).mtimeMs;
      const isSettled = usedAtMs - image.unpackedAtMs > limits.imageSettleMs;
      return image.bootId === this.#bootId || isSettled ? { ...image, directory } : undefined;
    } catch {
      return undefined; // none, or just removed
    }
  }

  referenceOf(source: ImageSource): Reference | undefined {
    try {
      return JSON.parse(readFileSync(this.#nameFile(source), "utf8")) as Reference;
    } catch {
      return undefined;
    }
  }

  /** `unpacked` has the layout of an image here; it is moved into the cache. */
  add(source: ImageSource, unpacked: string, reference: Reference): void {
    const to = this.pathOf(reference.digest);
    if (this.byDigest(reference.digest) === undefined) {
      removeTree(to);
      this.#move(unpacked, to);
    }
    this.remember(source, reference);
  }

  remember(source: ImageSource, reference: Reference): void {
    const file = this.#nameFile(source);
    writeFileSync(`${file}.${process.pid}`, JSON.stringify(reference), { mode: 0o600 });
    renameSync(`${file}.${process.pid}`, file);
  }

  /** Keeps the image from removal for a while. */
  touch({ directory }: CachedImage, now = new Date()): void {
    utimesSync(usedFile(directory), now, now);
  }

  pathOf(digest: string): string {
    return join(this.directory, "images", digest.replace(":", "-"));
  }

  /** Held while an image with this name is looked up and copied: few lock files serve all names. */
  lockOf(names: readonly string[]): string {
    const key = names.map((name) => sourceKey({ name, path: undefined, moves: false })).join("");
    const number = Number.parseInt(
      sourceKey({ name: key, path: undefined, moves: false }).slice(0, 4),
      16,
    );
    return join(this.directory, "locks", String(number % limits.imageLocks));
  }

  /** A new directory for an image that is being copied for this run. */
  makeIncoming(run: string): string {
    return mkdtempSync(join(this.directory, "incoming", `${run}-`));
  }

  /** The directories of images that were being copied when their run ended. */
  incomingOf(hasEnded: (run: string) => boolean): readonly string[] {
    const incoming = join(this.directory, "incoming");
    return namesIn(incoming)
      .filter((name) => hasEnded(name.slice(0, name.indexOf("-"))))
      .map((name) => join(incoming, name));
  }

  /** Removes the least recently used images, until the rest is within the limits. `run`: the run that added one. */
  evict(
    runsDirectory: string,
    run: string,
    { nowMs, bytesMax }: { readonly nowMs: number; readonly bytesMax: number },
  ): void {
    const inUse = imagesInUse(runsDirectory);
    const images = namesIn(join(this.directory, "images")).flatMap((name) => {
      const directory = join(this.directory, "images", name);
      try {
        const { bytes } = JSON.parse(readFileSync(imageFile(directory), "utf8")) as UnpackedImage;
        return [{ name, directory, bytes, usedAtMs: statSync(usedFile(directory)).mtimeMs }];
      } catch {
        return [{ name, directory, bytes: 0, usedAtMs: 0 }];
      }
    });
    let count = images.length;
    let bytes = images.reduce((sum, image) => sum + image.bytes, 0);
    for (const image of images.toSorted((a, b) => a.usedAtMs - b.usedAtMs)) {
      if (count <= limits.imagesMax && bytes <= bytesMax) return;
      if (inUse.has(image.name) || nowMs - image.usedAtMs < limits.imageIdleMsMin) continue;
      // Moved away at once: removing a million files takes long.
      const aside = this.makeIncoming(run);
      renameSync(image.directory, join(aside, "old"));
      removeTree(aside);
      count -= 1;
      bytes -= image.bytes;
    }
  }

  #move(from: string, to: string): void {
    try {
      renameSync(from, to);
    } catch (error) {
      if (!existsSync(imageFile(to))) throw error; // otherwise another process was first
    }
  }

  #nameFile(source: ImageSource): string {
    return join(this.directory, "names", `${sourceKey(source)}.json`);
  }
}

/** The directory names of images that runs have links to. */
function imagesInUse(runsDirectory: string): ReadonlySet<string> {
  const names = new Set<string>();
  for (const run of namesIn(runsDirectory)) {
    for (const bundle of namesIn(join(runsDirectory, run))) {
      try {
        names.add(basename(join(readlinkSync(join(runsDirectory, run, bundle, "image")), "..")));
      } catch {
        continue; // not a bundle
      }
    }
  }
  return names;
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
