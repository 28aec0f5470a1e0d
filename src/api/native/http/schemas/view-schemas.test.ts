import * as fc from "fast-check";
import { Compile } from "typebox/compile";
import type { Static, TObject } from "typebox";
import { expect, test } from "vitest";
import type * as views from "../../../../server/views/views.ts";
import { explanations, tried } from "../../testing/arbitrary-explanations.ts";
import * as arbitrary from "../../testing/arbitrary-views.ts";
import { Cluster, Satisfied } from "./cluster-schemas.ts";
import * as schemas from "./view-schemas.ts";

// That every field of a view is in its schema is checked by the compiler here; the other way
// round it is checked in every route.
type SameFields<Schema extends TObject, View> = [keyof View] extends [keyof Static<Schema>]
  ? true
  : { readonly missing: Exclude<keyof View, keyof Static<Schema>> };
const isComplete: {
  readonly spec: SameFields<typeof schemas.JobSpec, views.JobSpecView>;
  readonly job: SameFields<typeof schemas.Job, views.JobView>;
  readonly task: SameFields<typeof schemas.Task, views.TaskView>;
  readonly node: SameFields<typeof schemas.Node, views.NodeView>;
  readonly cluster: SameFields<typeof Cluster, views.ClusterView>;
  readonly satisfied: SameFields<typeof Satisfied, views.SatisfyView>;
  readonly group: SameFields<typeof schemas.Group, views.GroupView>;
  readonly explanation: SameFields<typeof schemas.Explanation, views.ExplanationView>;
  readonly tried: SameFields<typeof schemas.TriedJob, views.TriedJobView>;
  readonly stats: SameFields<typeof schemas.Stats, views.StatsView>;
  readonly counts: SameFields<typeof schemas.Counts, views.CountsView>;
} = {
  spec: true,
  job: true,
  task: true,
  node: true,
  cluster: true,
  satisfied: true,
  group: true,
  explanation: true,
  tried: true,
  stats: true,
  counts: true,
};

test("the schemas have every field of the views", () => {
  expect(Object.values(isComplete)).not.toContain(false);
});

const cases: readonly [string, TObject, fc.Arbitrary<unknown>][] = [
  ["spec", schemas.JobSpec, arbitrary.specs],
  ["task", schemas.Task, arbitrary.tasks],
  ["node", schemas.Node, arbitrary.nodes],
  ["cluster", Cluster, arbitrary.clusters],
  ["satisfied", Satisfied, arbitrary.satisfied],
  ["group", schemas.Group, arbitrary.groups],
  ["explanation", schemas.Explanation, explanations],
  ["trial", schemas.TriedJob, tried],
  ["stats", schemas.Stats, arbitrary.stats],
  ["counts", schemas.Counts, arbitrary.countings],
];
for (const [name, schema, values] of cases) {
  test(`every ${name} fits the schema it is described by`, () => {
    const validator = Compile(schema);
    fc.assert(
      fc.property(values, (value) => {
        // As it is sent: JSON knows no Infinity.
        const sent: unknown = JSON.parse(
          JSON.stringify(value, (_, each) => (each === Infinity || each === -Infinity ? 0 : each)),
        );
        expect(validator.Errors(sent)).toEqual([]);
      }),
    );
  });
}
