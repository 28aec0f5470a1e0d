import { compileRequest } from "../match/compile-request.ts";
import { parseGraph } from "../jgf.ts";
import { layOut } from "../layout.ts";
import { match } from "../match/match.ts";
import type { ResourceChoice } from "../request/request.ts";
import type { Subsystem } from "../subsystems/subsystem.ts";
import type { Use } from "../match/use.ts";
import { type Branch, documentOf, times } from "./documents.ts";

export const core: Branch = { type: "core" };
export const node = (cores: number, ...more: Branch[]): Branch => ({
  type: "node",
  inside: [{ type: "socket", inside: [...times(cores, core)] }, ...more],
});
export const cluster = (...inside: Branch[]): Branch => ({
  type: "cluster",
  inside: [{ type: "rack", inside }],
});
export const layoutOf = (branch: Branch, subsystems = new Map<string, Subsystem>()) =>
  layOut(parseGraph(documentOf(branch)), subsystems);

/** One rack, 4 nodes with 2 cores each. */
export const small = layoutOf(cluster(...times(4, node(2))));
export const fits = (choice: ResourceChoice, layout = small, use?: Use): boolean =>
  match(layout, compileRequest(choice), use).fits;
