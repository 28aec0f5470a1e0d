// What callers see of energy and power: docs/design/power.md.

export interface JobEnergyView {
  readonly wattSeconds: number;
  readonly doneWattSeconds: number;
  /** In no share yet, or again. */
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
  /** It begins and ends shares only so often; absent: at once. */
  readonly tickMs?: number;
  /** That it has now. */
  readonly shares: number;
  /** That it takes at once. */
  readonly sharesMax: number;
  /** Of a site below: how many edges have this power; absent: it is an edge itself. */
  readonly edges?: number;
}
