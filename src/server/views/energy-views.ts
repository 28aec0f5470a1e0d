// The views of energy and power: docs/design/power.md.

export interface JobEnergyView {
  readonly wattSeconds: number;
  readonly doneWattSeconds: number;
  /** Not assigned in a share, or no longer. */
  readonly unplacedWattSeconds: number;
}

export interface ShareView {
  readonly wattSeconds: number;
  readonly doneWattSeconds: number;
}

export interface PowerView {
  readonly watts: number;
  readonly changes: readonly { readonly atMs: number; readonly watts: number }[];
  readonly greatestShare?: number;
  readonly needsNoCommand: boolean;
  /** The interval at which it begins and ends shares; absent: at any time. */
  readonly tickMs?: number;
  /** The number of shares that it has now. */
  readonly shares: number;
  /** The number of shares that it accepts at once. */
  readonly sharesMax: number;
  /** For a site below: the number of edges with this power; absent: the node is an edge itself. */
  readonly edges?: number;
}
