import { whyNoChromium } from "./chromium.ts";
import { whyNoContainerPrograms } from "./container-image.ts";
import { whyNoShells } from "./shells.ts";
import { whyNoSlurm } from "./slurm.ts";

/**
 * Runs once, before tests with real processes: slow installations are not repeated by each test, nor done by two at once. Where an
 * installation is not available, the tests that need it say so.
 */
export function setup(): void {
  whyNoSlurm();
  whyNoContainerPrograms();
  whyNoChromium();
  whyNoShells();
}
