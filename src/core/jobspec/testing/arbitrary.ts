import * as fc from "fast-check";

/** JSON leaves out values that are undefined. */
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 });

const word = fc.oneof(
  fc.constantFrom("a", "it's", "$HOME", "--x=1", "two words", "n", "1.20", "#!", ""),
  fc.string({ maxLength: 6 }).filter((text) => !text.includes("\0")),
);

const attributes = fc.record(
  {
    duration: fc.constantFrom(30, 1.5, "1m", "30s"),
    cwd: fc.constantFrom("/tmp", "/a b"),
    environment: fc.dictionary(fc.constantFrom("A", "B", "PATH"), word),
    watch: fc.boolean(),
    user: fc.jsonValue({ maxDepth: 1 }),
    system: fc.record({ queue: word }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
);

const requirement = fc.oneof(
  fc.record({ name: fc.constantFrom("os", "io"), field: fc.constantFrom("a", "b") }),
  fc.record({ name: fc.constant("os"), field: fc.constantFrom("a", "b", "c"), match: word }),
  fc.record({ name: fc.constant("mpi"), field: fc.constant("v"), min: word, max: maybe(word) }),
  fc.record({
    name: fc.constant("spack"),
    field: fc.constant("type"),
    match: fc.array(word, { minLength: 1, maxLength: 3 }),
    attribute: fc.constant("name"),
    value: word,
  }),
);

const leaves = fc.subarray(
  [
    { type: "core", count: 2 },
    { type: "gpus", count: 1, label: "g" },
    { type: "memory", count: 3, unit: "GiB" },
    { type: "socket", count: 2, with: { type: "core", count: 2 } },
  ],
  { minLength: 1 },
);

/** Small enough to fit into every group. */
const resource = fc.oneof(
  fc.record({
    type: fc.constant("node"),
    count: fc.integer({ min: 1, max: 3 }),
    with: maybe(leaves),
    requires: maybe(fc.array(requirement, { maxLength: 2 })),
    exclusive: maybe(fc.boolean()),
    schedule: maybe(fc.boolean()),
  }),
  fc.record({
    type: fc.constant("node"),
    replicas: fc.integer({ min: 1, max: 3 }),
    with: leaves,
    label: maybe(fc.constant("slot")),
  }),
  fc.record({
    type: fc.constant("node"),
    count: fc.integer({ min: 1, max: 2 }),
    with: leaves.map((inside) => [{ type: "slot", count: 2, with: inside }]),
  }),
);

const run = fc.oneof(
  fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => ({ command: ["run", ...words] })),
  fc.constantFrom(
    { command: "make 'all of it'" },
    { command: '#!/bin/bash\necho "it\'s"\n' },
    { script: "echo hi" },
    { script: "#!/usr/bin/perl\n1;" },
    {
      scripts: [
        { name: "a b.sh", content: "#!/bin/sh\necho 'x'\n" },
        { name: "c", content: "true" },
      ],
      steps: [
        { name: "set", key: "stage", value: "/tmp/dir x" },
        { name: "write", filename: "a b.sh", executable: true },
        { name: "unset", key: "stage" },
        { name: "submit", filename: "c", watch: true },
        { name: "batch", filename: "a b.sh" },
        { name: "stage", path: "/data" },
      ],
    },
  ),
);

const choice = fc.constantFrom("r0", "r1", "r0|r1", "r1&r0", "r0,r0|r1");
const sets = fc.constantFrom("s0", "s1", "s0|s1", "s0&s1");

interface Lists {
  readonly tasks: readonly { readonly [key: string]: unknown; readonly resources?: unknown }[];
  readonly inner: boolean;
}

const task = fc
  .tuple(
    run,
    fc.record({
      resources: maybe(choice),
      requires: maybe(sets),
      attributes: maybe(attributes),
      replicas: maybe(fc.integer({ min: 1, max: 5 })),
      local: maybe(fc.boolean()),
      dependsOnEarlier: fc.boolean(),
      isNamed: fc.boolean(),
    }),
  )
  .map(([work, rest]) => ({ ...work, ...rest }));

const lists: fc.Arbitrary<Lists> = fc.record({
  tasks: fc.array(task, { minLength: 1, maxLength: 4 }),
  inner: fc.boolean(),
});

/** Names the tasks, and makes some depend on the task before. */
const named = (list: Lists, prefix: string) =>
  list.tasks.map(({ dependsOnEarlier, isNamed, ...rest }, index) => ({
    ...rest,
    name: isNamed === true ? `${prefix}${index}` : undefined,
    depends_on:
      dependsOnEarlier === true && index > 0 && list.tasks[index - 1]?.["isNamed"] === true
        ? [`${prefix}${index - 1}`]
        : undefined,
  }));

/** A nextgen document; nearly all are valid. JSON leaves out undefined values. */
export const document = fc
  .record({
    r0: resource,
    r1: resource,
    s0: fc.array(requirement, { minLength: 1, maxLength: 3 }),
    s1: fc.array(requirement, { minLength: 1, maxLength: 3 }),
    name: maybe(fc.string({ minLength: 1, maxLength: 20 }).filter((text) => !text.includes("\0"))),
    attributes: maybe(attributes),
    top: lists,
    outer: lists,
    middle: lists,
    outerSays: fc.record({ requires: maybe(sets), attributes: maybe(attributes) }),
    isPlaced: fc.boolean(),
  })
  .map((parts) => ({
    version: 1,
    name: parts.name,
    attributes: parts.attributes,
    requires: { s0: parts.s0, s1: parts.s1 },
    resources: { r0: parts.r0, r1: parts.r1, pool: { type: "node", count: 20 } },
    tasks: [
      ...named(parts.top, "t").map((each) => ({ ...each, resources: each.resources ?? "r0" })),
      ...(parts.isPlaced ? [{ group: "outer" }] : []),
    ],
    groups: [
      {
        name: "outer",
        resources: "pool",
        ...parts.outerSays,
        tasks: [...named(parts.outer, "t"), ...(parts.outer.inner ? [{ group: "middle" }] : [])],
        groups: [{ name: "middle", tasks: named(parts.middle, "m") }],
      },
    ],
  }));
