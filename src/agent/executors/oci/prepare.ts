import { writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";

import { describeChain } from "../../../lib/errors.ts";
import { errnoOf, describeMachineFault, isMachineFault } from "../../runs/machine-fault.ts";
import { failurePath, type PreparationFailure, readPlan } from "./container-plan.ts";
import { fetchImage } from "./images/fetch-image.ts";
import { imageBounds } from "./images/image-bounds.ts";
import { type CachedImage, ImageCache } from "./images/image-cache.ts";
import { ImageFailure } from "./images/image-failure.ts";
import { toImageSource } from "./images/image-source.ts";
import { prepareBundles } from "./prepare-bundles.ts";

/** Copies the images of a run and makes its bundles. False: the reason is in its directory. */
export async function prepare(runDirectory: string): Promise<boolean> {
  try {
    const plan = readPlan(runDirectory);
    const { means, bootId, plannedAtMs } = plan;
    const cache = new ImageCache(plan.imagesDirectory, bootId);
    cache.make(); // the agent's directory may have been emptied
    const options = {
      cache,
      means,
      bootId,
      plannedAtMs,
      bounds: plan.imageBounds ?? imageBounds,
      runsDirectory: dirname(runDirectory),
      run: basename(runDirectory),
    };
    const images: CachedImage[] = [];
    for (const { image } of plan.containers) {
      images.push(await fetchImage(toImageSource(image), options)); // one after the other: they may be the same
    }
    prepareBundles(runDirectory, plan, { images, cache });
    return true;
  } catch (error) {
    const failure = failureOf(error);
    process.stderr.write(`busbar: ${failure.message}\n`);
    writeFailure(runDirectory, failure);
    return false;
  }
}

export function failureOf(error: unknown): PreparationFailure {
  if (error instanceof ImageFailure) return { kind: error.kind, message: error.message };
  const number = errnoOf(error);
  if (number !== undefined && isMachineFault(number)) {
    return { kind: "node-fault", message: describeMachineFault(number) };
  }
  return { kind: "could-not-start", message: describeChain(error) };
}

/** On a full disk even this may fail: then only the exit code shows the failure. */
function writeFailure(runDirectory: string, failure: PreparationFailure): void {
  try {
    writeFileSync(failurePath(runDirectory), JSON.stringify(failure));
  } catch (error) {
    process.stderr.write(`busbar: ${describeChain(error)}\n`);
  }
}
