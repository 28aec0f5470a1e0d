// Prepares what the containers of a run need and this machine does not have yet: a process of the run itself, so
// that copying an image outlives the agent, is stopped with the run and counts as the run's. Argument: the run's directory.
import { dirname } from "node:path";

import { makeDirectory } from "../../../lib/make-directory.ts";
import { prepare } from "./prepare.ts";

const [runDirectory = ""] = process.argv.slice(2);
makeDirectory(dirname(runDirectory));
process.exitCode = (await prepare(runDirectory)) ? 0 : 1;
