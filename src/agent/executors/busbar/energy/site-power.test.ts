import { expect, test } from "vitest";

import { SitePower } from "./site-power.ts";
import { anEdge } from "./testing/an-edge.ts";

const aPower = (active = 0) => {
  const shares = { active, waiting: 0 };
  const power = new SitePower(() => ({ ...shares }));
  let changes = 0;
  power.onChange(() => (changes += 1));
  return { power, shares, changes: () => changes };
};
const isKnown = (power: SitePower): Promise<boolean> =>
  Promise.race([power.known.then(() => true), Promise.resolve().then(() => false)]);

test("the site sends no power until a node has power, or a share of an earlier process is active", async () => {
  const { power } = aPower();
  power.observing()([{ ...anEdge(5), power: undefined }]);
  expect(await isKnown(power)).toBe(false);
  power.observing()([anEdge(0)]);
  expect(await isKnown(power)).toBe(true);
  expect(await isKnown(aPower(1).power)).toBe(true);
});

test("the free edges hold for the shares that existed when the observation began", () => {
  const { power, shares } = aPower();
  const seen = power.observing();
  shares.active = 1; // arrived while the nodes were listed
  seen([anEdge(20), anEdge(20)]);
  expect(power.now()).toMatchObject({ watts: 40, site: { shares: 1 } });
  power.observing()([anEdge(20, { shares: 1 }), anEdge(20)]);
  expect(power.now()).toMatchObject({ watts: 20, site: { shares: 2 } });
});

test("a site that cannot be observed accepts no more shares, and keeps its assigned ones", () => {
  const { power, shares, changes } = aPower();
  power.observing()([anEdge(20), anEdge(10)]);
  expect(changes()).toBe(1);
  power.notObserved();
  power.notObserved();
  expect(changes()).toBe(2);
  expect(power.now()).toMatchObject({ watts: 0, site: { shares: 1, edges: 2 } });
  shares.active = 2;
  expect(power.now()).toMatchObject({ watts: 30, site: { shares: 2 } });
});
