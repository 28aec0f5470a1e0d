import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { bundlePath, type ContainerPlan, type PlannedContainer } from "./container-plan.ts";
import type { CachedImage, ImageCache } from "./images/image-cache.ts";
import { ImageFailure } from "./images/image-failure.ts";
import { runtimeConfig } from "./runtime/runtime-config.ts";
import { stopSignalOf } from "./runtime/stop-signal.ts";

/** The files by which programs resolve host names; a container on this machine's network has the same. */
const HOST_FILES = ["/etc/resolv.conf", "/etc/hosts"];

/**
 * Makes the bundle of each container: its own root over the image's, and the configuration for runc. `images` are those of the containers,
 * in their order. Throws ImageFailure.
 */
export function prepareBundles(
  runDirectory: string,
  plan: ContainerPlan,
  { images, cache }: { readonly images: readonly CachedImage[]; readonly cache: ImageCache },
): void {
  makeProgressFile(plan.progressFile);
  for (const [number, container] of plan.containers.entries()) {
    const image = images[number];
    if (image === undefined) throw new Error("each container has an image");
    prepareBundle(bundlePath(runDirectory, number), { plan, container, image, cache });
  }
}

function prepareBundle(
  bundle: string,
  {
    plan,
    container,
    image,
    cache,
  }: {
    readonly plan: ContainerPlan;
    readonly container: PlannedContainer;
    readonly image: CachedImage;
    readonly cache: ImageCache;
  },
): void {
  if (container.args.length === 0 && image.args.length === 0) {
    const problem = `image ${container.image} has no command of its own: write one after --`;
    throw new ImageFailure("could-not-start", problem);
  }
  checkRoot(image, container.image);
  for (const name of ["", "rootfs", "upper", "work"])
    mkdirSync(join(bundle, name), { mode: 0o755 });
  // First marks it as in use, then looks it up again: it may be removed at this moment.
  cache.touch(image);
  symlinkSync(join(image.directory, "rootfs"), join(bundle, "image"));
  if (cache.byDigest(image.digest) === undefined) {
    throw new ImageFailure("node-fault", `image ${container.image} was removed to make room`);
  }
  writeStopSignal(bundle, container, image);
  const hostFiles = HOST_FILES.filter((path) => existsSync(path));
  const config = runtimeConfig(plan, container, image, hostFiles);
  writeFileSync(join(bundle, "config.json"), JSON.stringify(config), { mode: 0o600 });
}

/**
 * runc (1.1.5 does) makes links below /dev by a path of this machine: where the image's /dev is a link, they would lie outside of the
 * container's root, and replace files of this machine.
 */
function checkRoot({ directory }: CachedImage, name: string): void {
  const found = lstatSync(join(directory, "rootfs/dev"), { throwIfNoEntry: false });
  if (found?.isSymbolicLink() !== true) return;
  throw new ImageFailure("could-not-start", `image ${name} has a link at /dev, not a directory`);
}

/** For the supervisor, which sends TERM without a file. It prints the note when it stops the container: then it explains what happens. */
function writeStopSignal(
  bundle: string,
  { name }: PlannedContainer,
  { stopSignal }: CachedImage,
): void {
  const { number, note } = stopSignalOf(stopSignal);
  writeFileSync(join(bundle, "stop-signal"), `${number}\n`);
  if (note === undefined) return;
  writeFileSync(join(bundle, "stop-note"), `busbar: ${name === "" ? "" : `${name}: `}${note}\n`);
}

/** The source of a mount must exist; the image may have any user. */
function makeProgressFile(path: string): void {
  closeSync(openSync(path, "a", 0o666));
  chmodSync(path, 0o666);
}
