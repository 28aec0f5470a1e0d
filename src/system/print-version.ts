import { writeSync } from "node:fs";
import { versionText } from "../cli/service/version.ts";

/** Ends the process: nothing else of it is needed, and most of its time would go into loading. */
export function printVersion(): never {
  writeSync(process.stdout.fd, `${versionText}\n`);
  process.exit(0);
}
