import { describe, expect, test } from "vitest";
import { compileRequest } from "./compile-request.ts";
import { explainRefusal } from "./explain.ts";
import { describeGraphRefusal } from "./refusal.ts";
import { layOut } from "../layout.ts";
import { limits } from "../../../limits.ts";
import { allocate, match, newBudgets, stepsTaken } from "./match.ts";
import type { ResourceChoice, ResourceRequest } from "../request/request.ts";
import { parseSubsystem } from "../subsystems/subsystem.ts";
import { requireOne, slots, want } from "../testing/requests.ts";
import { Use } from "./use.ts";
import { cluster, layoutOf, node, small } from "../testing/small-cluster.ts";

describe("refusals name the deepest place that fails", () => {
  const uneven = layoutOf(cluster(node(2), node(4, { type: "gpu" }), node(8)));
  const linked = layOut(
    small.graph,
    new Map([
      [
        "spack",
        parseSubsystem(
          "spack",
          {
            graph: {
              nodes: { s: { metadata: { name: "ior", version: "2.0" } } },
              edges: [{ source: "2", target: "s", relation: "contains" }],
            },
          },
          small.graph,
        ),
      ],
    ]),
  );
  const ior = (min: string) => ({
    subsystem: "spack",
    conditions: [{ kind: "version", field: "ior", min, max: undefined } as const],
  });
  const cases: readonly [string, ResourceRequest[], typeof small, string, string][] = [
    ["none", [want(1, "gpu")], small, "none", "there is no gpu"],
    [
      "none inside",
      [want(1, "node", [want(1, "gpu")])],
      small,
      "none",
      "there is no gpu in a node",
    ],
    ["few", [want(5, "node")], small, "too-few", "4 nodes, 5 requested"],
    [
      "small",
      [want(1, "node", [want(10, "core")])],
      small,
      "too-small",
      "4 nodes have 2 cores, 10 requested",
    ],
    [
      "small, uneven",
      [want(1, "node", [want(10, "core")])],
      uneven,
      "too-small",
      "the largest of 3 nodes has 8 cores, 10 requested",
    ],
    [
      "few that are large",
      [want(2, "node", [want(8, "core")])],
      uneven,
      "too-few-large",
      "1 of 2 nodes requested has 8 cores",
    ],
    [
      "never both",
      [want(1, "node", [want(8, "core"), want(1, "gpu")])],
      uneven,
      "not-together",
      "too few nodes have 8 cores and 1 gpu together, 1 requested",
    ],
    [
      "deeper",
      [want(1, "rack", [want(1, "node", [want(3, "core")])])],
      small,
      "too-small",
      "4 nodes have 2 cores, 3 requested",
    ],
    [
      "unmet",
      [want(1, "node", [], { requires: [ior("3.3")] })],
      linked,
      "unmet",
      "no node with spack ior >= 3.3",
    ],
    [
      "met by too few",
      [want(2, "node", [], { requires: [requireOne("spack", "name", "ior")] })],
      linked,
      "unmet",
      "1 of 2 nodes requested with spack name=ior",
    ],
    [
      "not together",
      [want(4, "node"), want(1, "core")],
      small,
      "not-together",
      "each part fits alone, but no way was found to fit all together (node, core)",
    ],
    [
      "slots",
      [slots(1, "slot", [want(3, "core")])],
      small,
      "too-small",
      "4 nodes have 2 cores, 3 requested",
    ],
  ];
  for (const [name, trees, layout, kind, text] of cases) {
    test(name, () => {
      const [refusal] = explainRefusal(layout, compileRequest([trees]));
      expect(refusal && describeGraphRefusal(refusal)).toBe(text);
      expect(refusal?.kind).toBe(kind);
    });
  }

  test("a busy graph is distinguished from an unsatisfiable request", () => {
    const use = new Use(small.graph);
    const taken = allocate(small, compileRequest([[want(2, "node")]])).allocation;
    if (taken !== undefined) use.add(taken);
    const why = (...trees: ResourceRequest[]) =>
      explainRefusal(small, compileRequest([trees]), use).map((each) => [
        each.kind,
        describeGraphRefusal(each),
      ]);
    expect(why(want(4, "node"))).toEqual([["busy", "2 of 4 nodes requested are free"]]);
    expect(why(want(4, "node", [want(1, "core")]))).toEqual([
      ["busy", "2 of 4 nodes requested are free"],
    ]);
    expect(why(want(5, "node"))).toEqual([["too-few", "4 nodes, 5 requested"]]);
    expect(why(want(6, "core"))).toEqual([["busy", "4 of 6 cores requested are free"]]);
    expect(why(want(1, "core"))).toEqual([]);
  });

  test("a search that would take too long is given up", { timeout: 60_000 }, () => {
    const nodes = Array.from({ length: 30_000 }, (_, at) => ({
      type: "node",
      inside: [{ type: "core", size: at + 1 }],
    }));
    const layout = layoutOf({ type: "cluster", inside: nodes });
    const parts = Array.from({ length: 250 }, (_, at) => want(at + 1, "core"));
    const plain = compileRequest([[want(30_000, "node", parts.slice(0, 1))]]);
    expect(match(layout, plain)).toEqual({ fits: true, alternative: 0, slots: 1 });
    const endless = compileRequest([[want(1, "node", parts)]]);
    expect(match(layout, endless)).toEqual({ fits: false, alternative: 0, slots: 0 });
    expect(explainRefusal(layout, endless).map(({ kind }) => kind)).toEqual(["too-complex"]);
  });

  test("all alternatives share the budget of one graph", { timeout: 60_000 }, () => {
    const nodes = Array.from({ length: 30_000 }, (_, at) => ({
      type: "node",
      inside: [{ type: "core", size: at + 1 }],
    }));
    const layout = layoutOf({ type: "cluster", inside: nodes });
    const parts = Array.from({ length: 250 }, (_, at) => want(at + 1, "core"));
    const endless = (): ResourceRequest[] => [want(1, "node", parts)];
    const budgets = newBudgets();
    match(layout, compileRequest(Array.from({ length: 8 }, endless)), undefined, budgets);
    const slack = 2 * 8; // an alternative notices an empty budget one step late
    expect(stepsTaken(budgets)).toBeLessThanOrEqual(
      limits.matchStepsMax + limits.searchStepsMax + slack,
    );
    expect(stepsTaken(budgets)).toBeGreaterThanOrEqual(limits.matchStepsMax);
  });

  test("each alternative has its own refusal", () => {
    const request = compileRequest([[want(1, "gpu")], [want(5, "node")]]);
    expect(explainRefusal(small, request).map(describeGraphRefusal)).toEqual([
      "there is no gpu",
      "4 nodes, 5 requested",
    ]);
  });
});

describe("an invalid request is rejected by name", () => {
  const cases: readonly [string, ResourceChoice, string][] = [
    ["no alternative", [], "resources"],
    ["no type", [[want(1, "")]], "resources[0].type"],
    ["a count of 0", [[want(0, "core")]], "resources[0].count"],
    ["a count that is none", [[want(NaN, "core")]], "resources[0].count"],
    ["half a node with cores", [[want(1.5, "node", [want(1, "core")])]], "resources[0].count"],
    ["an empty slot", [[want(1, "node", [want(1, "slot")])]], "resources[0].with[0].with"],
    ["one of several", [[want(1, "core")], [want(-1, "core")]], "resources[1][0].count"],
  ];
  for (const [name, choice, field] of cases) {
    test(name, () => {
      expect(() => compileRequest(choice)).toThrow(expect.objectContaining({ field }));
    });
  }
});
