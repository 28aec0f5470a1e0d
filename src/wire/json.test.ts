import type { DescField, DescMessage, MessageShape } from "@bufbuild/protobuf";
import { create, equals, ScalarType } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  Busbar,
  JobSchema,
  JobSubmissionSchema,
  ListJobsRequestSchema,
  State,
  SubmitJobsRequestSchema,
  TaskSchema,
  WatchEventSchema,
} from "../gen/busbar/v1/busbar_pb.ts";
import { file_busbar_v1_busbar } from "../gen/busbar/v1/busbar_pb.ts";
import {
  file_busbar_v1_cluster,
  SatisfyRequestSchema,
  SetClusterStateRequestSchema,
} from "../gen/busbar/v1/cluster_pb.ts";
import { hasPresence, isRequired } from "./descriptors.ts";
import { fromJson } from "./read-json.ts";
import { AMOUNTS, INLINED, isJsonText, JSON_TEXTS, VALUE, WRITTEN } from "./special-fields.ts";
import { toJson } from "./write-json.ts";

test("numbers are numbers, states are words, absent fields are omitted", () => {
  const task = create(TaskSchema, {
    id: "17.3",
    jobId: "17",
    index: 3,
    state: State.RUNNING,
    usage: { maxRssBytes: 5n },
  });
  expect(toJson(TaskSchema, task)).toMatchObject({
    id: "17.3",
    jobId: "17",
    index: 3,
    attempt: 0,
    state: "running",
    usage: { maxRssBytes: 5 },
  });
  expect(toJson(TaskSchema, task)).toHaveProperty("past", []);
  expect(toJson(TaskSchema, task)).not.toHaveProperty("exitCode");
});

test("the type of the JSON follows from the message", () => {
  const { spec, state, tasks, usage } = toJson(JobSchema, create(JobSchema, { id: "1" }));
  // Each of these does not compile unless the field has this type.
  const types: {
    readonly state: string;
    readonly pending: number | undefined;
    readonly cpuMs: number | undefined;
    readonly command: readonly string[] | undefined;
    readonly request: unknown;
  } = {
    state,
    pending: tasks?.pending,
    cpuMs: usage?.cpuMs,
    command: spec?.command,
    request: spec?.request,
  };
  expect(types.pending).toBeUndefined();
});

test("a text that is JSON on the wire is the value itself, and so are values and oneofs", () => {
  const asked = fromJson(SatisfyRequestSchema, {
    request: [[{ type: "node" }]],
    selection: { strategy: "cheapest", parameters: { n: 4, zone: "north", isSpot: true } },
  });
  expect(asked.ask).toEqual({ case: "request", value: '[[{"type":"node"}]]' });
  expect(toJson(SatisfyRequestSchema, asked)).toMatchObject({
    request: [[{ type: "node" }]],
    selection: { strategy: "cheapest", parameters: { n: 4, zone: "north", isSpot: true } },
  });
  const event = create(WatchEventSchema, { revision: 7n, event: { case: "sync", value: {} } });
  expect(toJson(WatchEventSchema, event)).toEqual({ revision: 7, sync: {} });
});

test("a submission is written without the level of its spec", () => {
  const json = { command: ["x"], resources: { memory: "4GiB" }, idempotencyKey: "k" };
  const submission = fromJson(JobSubmissionSchema, json);
  expect(submission.spec?.command).toEqual(["x"]);
  expect(submission.spec?.resources).toEqual({ memory: 4 * 2 ** 30 });
  expect(submission.idempotencyKey).toBe("k");
  expect(fromJson(ListJobsRequestSchema, { states: ["failed"] }).filter?.states).toEqual([
    State.FAILED,
  ]);
});

describe("a wrong value is rejected with its path and the right form", () => {
  const jobs = (job: unknown) => ({ jobs: [{ command: ["x"] }, job] });
  const cases: readonly [string, DescMessage, unknown, string][] = [
    ["a list", SubmitJobsRequestSchema, [], "body: must be an object, not []"],
    ["a number", SubmitJobsRequestSchema, jobs({ script: 5 }), "jobs[1].script: must be a text"],
    [
      "a misspelt field",
      SubmitJobsRequestSchema,
      jobs({ priorty: 5 }),
      "jobs[1].priorty: is not known; did you mean priority?",
    ],
    [
      "half a number",
      SubmitJobsRequestSchema,
      jobs({ priority: 0.5 }),
      "jobs[1].priority: must be a whole number, not 0.5",
    ],
    [
      "too large a number",
      SubmitJobsRequestSchema,
      jobs({ priority: 2 ** 31 }),
      "jobs[1].priority: must be a whole number from -2147483648 to 2147483647",
    ],
    [
      "a text in a list",
      SubmitJobsRequestSchema,
      jobs({ command: ["x", null] }),
      "jobs[1].command[1]: must be a text, not null",
    ],
    [
      "a text in a map",
      SubmitJobsRequestSchema,
      jobs({ env: { A: 1 } }),
      "jobs[1].env.A: must be a text, not 1",
    ],
    [
      "an unknown word",
      ListJobsRequestSchema,
      { states: ["runing"] },
      'states[0]: "runing" is not one of its values; did you mean running?',
    ],
    [
      "both of a choice",
      SatisfyRequestSchema,
      { jobspec: "x", request: [] },
      "request: give either jobspec or request",
    ],
    [
      "an amount",
      SubmitJobsRequestSchema,
      jobs({ resources: { cpu: "4GiB" } }),
      'jobs[1].resources.cpu: must be a number, not "4GiB"',
    ],
    ["what is missing", SetClusterStateRequestSchema, {}, "cluster: is missing"],
    [
      "a value that is none",
      SetClusterStateRequestSchema,
      { cluster: "a", values: { k: [] } },
      "values.k: must be a number, a text, true or false, not []",
    ],
    [
      "a key of every object",
      SubmitJobsRequestSchema,
      JSON.parse('{"jobs": [{"env": {"__proto__": "x"}}]}'),
      "jobs[0].env: must not have a key __proto__",
    ],
  ];
  for (const [name, desc, value, message] of cases) {
    test(name, () => {
      expect(() => fromJson(desc, value)).toThrow(
        expect.objectContaining({ message: expect.stringContaining(message) as string }),
      );
    });
  }
});

// Any message, made from its descriptor alone, so that no field can be left out by mistake.
const words = fc.string({ minLength: 1, maxLength: 5 });

const SCALARS: ReadonlyMap<ScalarType, fc.Arbitrary<unknown>> = new Map<
  ScalarType,
  fc.Arbitrary<unknown>
>([
  [ScalarType.BOOL, fc.boolean()],
  [ScalarType.DOUBLE, fc.integer()],
  [ScalarType.INT32, fc.integer()],
  [ScalarType.UINT32, fc.nat()],
  [ScalarType.INT64, fc.maxSafeInteger().map(BigInt)],
]);

const anyScalar = (scalar: ScalarType): fc.Arbitrary<unknown> => SCALARS.get(scalar) ?? words;

function anyItem(field: DescField, depth: number): fc.Arbitrary<unknown> {
  if (isJsonText(field.parent.typeName, field.localName)) return fc.constant("[1]");
  if (field.message !== undefined) return anyMessage(field.message, depth - 1);
  if (field.enum !== undefined) {
    return fc.constantFrom(...field.enum.values.slice(1).map((one) => one.number));
  }
  return anyScalar(field.scalar ?? ScalarType.STRING);
}

function anyField(field: DescField, depth: number): fc.Arbitrary<unknown> {
  const isDeep = field.message !== undefined && field.message.typeName !== VALUE && depth <= 0;
  if (field.fieldKind === "list") {
    return isDeep ? fc.constant([]) : fc.array(anyItem(field, depth), { maxLength: 2 });
  }
  if (field.fieldKind === "map") {
    const keys = fc.constantFrom("a", "b", "memory");
    return isDeep
      ? fc.constant({})
      : fc.dictionary(keys, anyItem(field, depth), { noNullPrototype: true });
  }
  if (isDeep) return fc.constant(undefined);
  return hasPresence(field)
    ? fc.option(anyItem(field, depth), { nil: undefined })
    : anyItem(field, depth);
}

function anyMessage(desc: DescMessage, depth = 4): fc.Arbitrary<MessageShape<DescMessage>> {
  const fields = desc.members.map((member): [string, fc.Arbitrary<unknown>] => {
    if (member.kind === "field") return [member.localName, anyField(member, depth)];
    const cases = member.fields.map((field) =>
      anyItem(field, depth).map((value) => ({ case: field.localName, value })),
    );
    return [
      member.localName,
      depth <= 0 && desc.typeName !== VALUE ? fc.constant({ case: undefined }) : fc.oneof(...cases),
    ];
  });
  return fc
    .record(Object.fromEntries(fields))
    .map((given) => create(desc, withoutAbsent(given) as never));
}

const withoutAbsent = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

// A stream of requests (Attach) has no JSON: only gRPC has it.
for (const method of Busbar.methods.filter(({ methodKind }) => methodKind !== "bidi_streaming")) {
  test(`every ${method.input.name} survives the conversion to JSON and back`, () => {
    fc.assert(
      fc.property(anyMessage(method.input), (message) => {
        const sent: unknown = JSON.parse(JSON.stringify(toJson(method.input, message)));
        const back = fromJson(method.input, sent);
        expect(equals(method.input, back, message), JSON.stringify(sent)).toBe(true);
      }),
      { numRuns: 30 },
    );
  });
}

describe("the list of special fields", () => {
  const reached = (desc: DescMessage, found = new Set<DescMessage>()): Set<DescMessage> => {
    if (found.has(desc)) return found;
    found.add(desc);
    for (const { message } of desc.fields) if (message !== undefined) reached(message, found);
    return found;
  };

  test("has all messages with lists or maps that both callers and the server write", () => {
    const asked = Busbar.methods.reduce(
      (all, { input }) => reached(input, all),
      new Set<DescMessage>(),
    );
    const answered = Busbar.methods.reduce(
      (all, { output }) => reached(output, all),
      new Set<DescMessage>(),
    );
    const many = (field: DescField) => field.fieldKind === "list" || field.fieldKind === "map";
    const both = [...answered].filter((desc) => asked.has(desc) && desc.fields.some(many));
    expect(both.map(({ typeName }) => typeName).sort()).toEqual([...WRITTEN].sort());
  });

  const messages = [...file_busbar_v1_busbar.messages, ...file_busbar_v1_cluster.messages];
  const fieldsOf = (typeName: string) =>
    messages.find((one) => one.typeName === typeName)?.fields.map((one) => one.localName);

  test("names fields that exist", () => {
    for (const lists of [JSON_TEXTS, AMOUNTS]) {
      for (const [typeName, names] of Object.entries(lists)) {
        expect(fieldsOf(typeName), typeName).toEqual(expect.arrayContaining([...names]));
      }
    }
    for (const [typeName, name] of Object.entries(INLINED)) {
      expect(fieldsOf(typeName), typeName).toContain(name);
    }
  });

  test("requires no field of an inlined message, which can be omitted as a whole", () => {
    for (const [typeName, name] of Object.entries(INLINED)) {
      const inlined = messages
        .find((one) => one.typeName === typeName)
        ?.fields.find((one) => one.localName === name)?.message;
      expect(inlined?.fields.filter(isRequired), typeName).toEqual([]);
    }
  });
});
