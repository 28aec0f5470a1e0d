// Prepares images and bundles of a run that this machine does not have yet. It is a process of the run itself, so that copying an image
// outlives the agent, stops with the run and counts as the run's usage. Argument: the run's directory.
import { dirname } from "node:path";

import { makeDirectory } from "../../../lib/make-directory.ts";
import { prepare } from "./prepare.ts";

const [runDirectory = ""] = process.argv.slice(2);
makeDirectory(dirname(runDirectory));
process.exitCode = (await prepare(runDirectory)) ? 0 : 1;
