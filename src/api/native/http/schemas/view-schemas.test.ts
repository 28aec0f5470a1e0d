import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { Compile } from "typebox/compile";
import { expect, test } from "vitest";
import * as wire from "../../../../gen/busbar/v1/busbar_pb.ts";
import { SatisfyResponseSchema } from "../../../../gen/busbar/v1/cluster_pb.ts";
import { SchemaBook } from "../../../../wire/schema.ts";
import { WRITTEN } from "../../../../wire/special-fields.ts";
import { toJson } from "../../../../wire/write-json.ts";
import { FIELD_RULES } from "../../field-rules.ts";
import { toCluster, toSatisfied } from "../../grpc/translate-clusters.ts";
import * as fleet from "../../grpc/translate-fleet.ts";
import * as jobs from "../../grpc/translate-jobs.ts";
import * as explaining from "../../testing/arbitrary-explanations.ts";
import { satisfied } from "../../testing/arbitrary-satisfied.ts";
import * as arbitrary from "../../testing/arbitrary-views.ts";

// The REST API sends views unchanged, and documents the JSON of messages: the two must be the same.

interface Case<View, Desc extends DescMessage> {
  readonly desc: Desc;
  readonly views: fc.Arbitrary<View>;
  readonly toMessage: (view: View) => MessageShape<Desc>;
}
const aCase = <View, Desc extends DescMessage>(
  desc: Desc,
  views: fc.Arbitrary<View>,
  toMessage: (view: View) => MessageShape<Desc>,
) => ({ desc, views, toMessage }) as unknown as Case<unknown, DescMessage>;

const cases: readonly Case<unknown, DescMessage>[] = [
  aCase(wire.JobSchema, arbitrary.jobs, jobs.toJob),
  aCase(wire.TaskSchema, arbitrary.tasks, jobs.toTask),
  aCase(wire.NodeSchema, arbitrary.nodes, fleet.toNode),
  aCase(wire.ClusterSchema, arbitrary.clusters, (view) => toCluster(view)),
  aCase(wire.GroupSchema, arbitrary.groups, fleet.toGroup),
  aCase(wire.ExplanationSchema, explaining.explanations, jobs.toExplanation),
  aCase(wire.StatsSchema, arbitrary.stats, fleet.toStats),
  aCase(wire.CountJobsResponseSchema, arbitrary.countings, jobs.toCountsAnswer),
  aCase(SatisfyResponseSchema, satisfied, toSatisfied),
  aCase(
    wire.TryJobsResponseSchema,
    explaining.tried.map((one) => ({ jobs: [one], revision: 1 })),
    jobs.toTried,
  ),
];

/** As it is sent: JSON has no Infinity. */
const sent = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_, each: unknown) =>
      each === Infinity || each === -Infinity ? 0 : each,
    ),
  );
/** Empty lists and maps of fields that callers write may be present or absent: both mean the same. */
function withoutEmpty(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutEmpty);
  const entries = Object.entries(value)
    .map(([key, each]) => [key, withoutEmpty(each)] as const)
    .filter(
      ([, each]) => typeof each !== "object" || each === null || Object.keys(each).length > 0,
    );
  return Object.fromEntries(entries);
}

for (const { desc, views, toMessage } of cases) {
  test(`the REST answer for a ${desc.name} is the JSON of the message`, () => {
    fc.assert(
      fc.property(views, (view) => {
        const json = toJson(desc, toMessage(view));
        expect(withoutEmpty(sent(view))).toEqual(withoutEmpty(sent(json)));
      }),
    );
  });

  test(`every ${desc.name} fits its documented schema`, () => {
    const book = new SchemaBook({
      docs: {},
      rules: {
        ...FIELD_RULES,
        "busbar.v1.JobSpec": { fields: {} },
        "busbar.v1.Dependency": { fields: {} },
        "busbar.v1.Placement": { fields: {} },
      },
      refOf: (name) => name,
      isAnswer: (typeName) => !(WRITTEN as readonly string[]).includes(typeName),
    });
    const schema = book.refTo(desc);
    const validator = Compile(book.definitions, schema);
    const shapes = /"(?:type|required|additionalProperties|enum)"/;
    fc.assert(
      fc.property(views, (view) => {
        const errors = validator.Errors(sent(view)) as readonly { readonly keyword: string }[];
        // The server checks the rules of values; these are arbitrary.
        expect(errors.filter(({ keyword }) => shapes.test(`"${keyword}"`))).toEqual([]);
      }),
    );
  });
}
