import { expect, test } from "vitest";
import { limits } from "../../../limits.ts";
import { FactsPool } from "./facts-pool.ts";
import { NO_FACTS, type NodeFacts } from "./node-facts.ts";

const withPackages = (prefix: string, count: number): NodeFacts => ({
  ...NO_FACTS,
  software: { spack: Array.from({ length: count }, (_, at) => ({ name: `${prefix}-${at}` })) },
});

test("equal lists are stored once, each by itself", () => {
  const pool = new FactsPool();
  const one = pool.share({ ...withPackages("a", 3), cores: 1 });
  const other = pool.share({ ...withPackages("a", 3), cores: 2 });
  expect(other).toEqual({ ...one, cores: 2 });
  expect(other.software["spack"]).toBe(one.software["spack"]);
  expect(pool.share(withPackages("b", 3)).software["spack"]).not.toBe(one.software["spack"]);
});

test("the list that was shared longest ago is dropped when there are too many", () => {
  const pool = new FactsPool();
  const count = 4_000;
  const chars = JSON.stringify(withPackages("0", count).software["spack"]).length;
  const first = pool.share(withPackages("first", count));
  const often = pool.share(withPackages("often", count));
  for (let at = 0; at < limits.sharedFactsCharsMax / chars; at++) {
    pool.share(withPackages(String(at), count));
    expect(pool.share(withPackages("often", count)).software["spack"]).toBe(
      often.software["spack"],
    );
  }
  expect(pool.share(withPackages("first", count)).software["spack"]).not.toBe(
    first.software["spack"],
  );
});
