import { graphMatches } from "./graph-matches.ts";
import { nodeReady } from "./node-ready.ts";
import type { Filter } from "./filter.ts";
import { resourcesFit } from "./resources-fit.ts";
import { whereMatches } from "./where-matches.ts";

/** In the order in which their reasons are worth telling: what can never change comes first. */
export const filters: readonly Filter[] = [whereMatches, graphMatches, resourcesFit, nodeReady];
