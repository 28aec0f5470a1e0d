import type { RunRequest } from "../../../ports/executor.ts";
import { withOutputFiles } from "./output-files.ts";
import { inSubmitDirectory, type Reach } from "./submit-directory.ts";

/** The request with its working directory on this machine, and with the files for its output. */
export const placed = (request: RunRequest, reach: Reach): RunRequest =>
  withOutputFiles(inSubmitDirectory(request, reach));
