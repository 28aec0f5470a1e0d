import { execute, parse, printSchema, validateSchema } from "graphql";
import { describe, expect, test } from "vitest";
import { Busbar, JobSchema, JobSpecSchema } from "../../../gen/busbar/v1/busbar_pb.ts";
import { createFakeOperations } from "../testing/fake-operations.ts";
import { aTask } from "../testing/view-builders.ts";
import { GraphqlContext } from "./context.ts";
import { LINKS } from "./links.ts";
import { createSchema } from "./schema.ts";
import { askFor } from "./testing/every-field.ts";

const schema = createSchema();
const query = schema.getQueryType()?.getFields() ?? {};
const mutation = schema.getMutationType()?.getFields() ?? {};

const WEB = { name: '"web"' };

/** Fields whose name has another meaning than in most requests. */
const VALUES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  cluster: { name: '"local"' },
  clusterGraph: { name: '"local"' },
  deleteCluster: { name: '"local"' },
  removeGroup: { name: '"default"' },
  satisfy: { jobspec: '"version: 9999"' },
  tryJobs: { jobs: '{jobs: [{command: ["true"]}]}' },
  service: WEB,
  instances: { service: '"web"' },
  instance: { service: '"web"' },
  scaleService: WEB,
  rollbackService: WEB,
  removeService: WEB,
  setNode: { onLost: '"keep"' },
  reportProgress: { percent: "40.5" },
};

async function run(text: string) {
  const task = aTask({ id: "1", jobId: "1" });
  const operations = createFakeOperations({
    getTask: async () => task,
    reportProgress: async () => task,
  });
  await operations.submitJobs([{ spec: { command: ["true"] } }]);
  const contextValue = new GraphqlContext(operations, new Map());
  return execute({ schema, document: parse(text), contextValue });
}

describe("the schema follows from the .proto files", () => {
  test("is valid, and has every unary method, by its resource or its name", () => {
    expect(validateSchema(schema)).toEqual([]);
    const unary = Busbar.methods.filter(({ methodKind }) => methodKind === "unary");
    expect(Object.keys({ ...query, ...mutation })).toHaveLength(unary.length);
    expect(Object.keys(query)).toEqual(
      expect.arrayContaining(["job", "jobs", "explainJob", "nodes", "clusters", "groups", "stats"]),
    );
    expect(Object.keys(mutation)).toEqual(
      expect.arrayContaining(["submitJobs", "cancelJob", "drainNode", "putGroup"]),
    );
  });

  test("a type has the fields of its message, with their comments, and its links beside them", () => {
    const text = printSchema(schema);
    const job = text.slice(text.indexOf("\ntype Job {"), text.indexOf("\ntype JobSpec {"));
    for (const { jsonName } of JobSchema.fields) expect(job).toMatch(`\n  ${jsonName}: `);
    expect(job).toContain('"""When its last task ended"""\n  endedAtMs: Int64\n');
    expect(job).toContain("  state: State!\n");
    expect(job).toContain("  explanation: Explanation\n");
  });

  test("optional fields of requests are nullable, required ones are not", () => {
    const text = printSchema(schema);
    const [, input = ""] = /\ninput JobSubmissionInput {([^]*?)\n}/.exec(text) ?? [];
    for (const { jsonName } of JobSpecSchema.fields) expect(input).toContain(`\n  ${jsonName}: `);
    expect(input).not.toContain("!\n");
    expect(mutation["cancelJob"]?.args.map((each) => `${each.name}: ${String(each.type)}`)).toEqual(
      expect.arrayContaining(["id: String!", "reason: String"]),
    );
  });

  test("no link hides a field of its message", () => {
    for (const { on, name } of LINKS) {
      expect(on.fields.map(({ jsonName }) => jsonName)).not.toContain(name);
    }
  });

  test("watched rows have a subscription", () => {
    const names = Object.keys(schema.getSubscriptionType()?.getFields() ?? {});
    expect(names).toEqual(
      expect.arrayContaining(["watch", "jobChanged", "taskChanged", "nodeChanged", "groupChanged"]),
    );
  });
});

describe("every field resolves, for every subfield", () => {
  test.each(Object.values(query).map((field) => [field.name, field] as const))(
    "query %s",
    async (name, field) => {
      const { data, errors } = await run(`{ ${askFor(field, VALUES[name] ?? {}, 4)} }`);
      expect(errors).toBeUndefined();
      expect(data?.[name]).not.toBeNull();
    },
  );

  test.each(Object.values(mutation).map((field) => [field.name, field] as const))(
    "mutation %s",
    async (name, field) => {
      const { data, errors } = await run(`mutation { ${askFor(field, VALUES[name] ?? {}, 3)} }`);
      expect(errors).toBeUndefined();
      expect(data?.[name]).not.toBeNull();
    },
  );
});
