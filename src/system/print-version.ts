import { writeSync } from "node:fs";
import { versionText } from "../cli/service/version.ts";

/** Ends the process at once: loading the rest would take most of its time. */
export function printVersion(): never {
  writeSync(process.stdout.fd, `${versionText}\n`);
  process.exit(0);
}
