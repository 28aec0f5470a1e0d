import { whyNoChromium } from "./chromium.ts";
import { whyNoContainerPrograms } from "./container-image.ts";
import { whyNoSlurm } from "./slurm.ts";

/**
 * Runs once, before tests with real processes: what takes long to install is not installed by each of
 * them, nor by two at once. Where it cannot be had, those that need it say so.
 */
export function setup(): void {
  whyNoSlurm();
  whyNoContainerPrograms();
  whyNoChromium();
}
