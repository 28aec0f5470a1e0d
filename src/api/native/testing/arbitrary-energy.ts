import * as fc from "fast-check";
import type { JobEnergyView, PowerView, ShareView } from "../../../server/views/energy-views.ts";
import { record, wide } from "./arbitrary-values.ts";

export const energyTerms = fc.constantFrom(
  { wattSeconds: 400, leastShare: 25, greatestShare: 400, split: "earliest" },
  { wattSeconds: 0 },
);

export const jobEnergy = record<JobEnergyView>(
  { wattSeconds: wide, doneWattSeconds: wide, unplacedWattSeconds: wide },
  [],
);

export const share = record<ShareView>({ wattSeconds: wide, doneWattSeconds: wide }, []);

export const power = record<PowerView>(
  {
    watts: wide,
    changes: fc.array(fc.record({ atMs: wide, watts: wide }), { maxLength: 2 }),
    greatestShare: wide,
    needsNoCommand: fc.boolean(),
    tickMs: fc.integer({ min: 1, max: 86_400_000 }),
    shares: fc.nat(1_000),
    sharesMax: fc.nat(1_000),
    edges: fc.nat(100_000),
  },
  ["greatestShare", "tickMs", "edges"],
);
