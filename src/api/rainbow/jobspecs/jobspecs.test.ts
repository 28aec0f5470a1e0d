import { expect, test } from "vitest";
import { limits } from "../../../limits.ts";
import { parseJobspec } from "../../../core/jobspec/read/parse.ts";
import { createJobspecReader, readJobspec } from "./jobspecs.ts";

const spec = (name: string, ...cores: number[]): string =>
  JSON.stringify({
    version: 1,
    name,
    resources: Object.fromEntries(
      cores.map((count, at) => [
        `r${at}`,
        { type: "node", replicas: 1, with: [{ type: "core", count }] },
      ]),
    ),
    tasks: cores.map((_, at) => ({ name: `t${at}`, command: ["true"], resources: `r${at}` })),
  });

test("a jobspec of several parts requests as much as its largest part", () => {
  const { request, parts } = readJobspec(spec("a", 2, 8, 4));
  expect(parts).toHaveLength(3);
  expect(request?.[0]?.[0]?.with[0]).toMatchObject({ type: "core", count: 8 });
});

test("one that requests nothing has no parts and no request", () => {
  const { request, parts } = readJobspec(
    '{"version":1,"tasks":[{"command":["true"],"local":true}]}',
  );
  expect([parts, request]).toEqual([[], undefined]);
});

test("an empty slot requests nothing of its node", () => {
  const slot = { type: "slot", count: 1, label: "echo" };
  const node = { type: "node", count: 2, with: [slot] };
  const command = ["echo", "hello"];
  const march = JSON.stringify({
    version: 1,
    resources: [node],
    tasks: [{ command, slot: "echo", count: { per_slot: 1 } }],
    attributes: { system: {} },
  });
  const april = JSON.stringify({
    version: 1,
    resources: { "task-resources": node },
    tasks: [{ replicas: 1, resources: "task-resources", command, attributes: {} }],
  });
  for (const text of [march, april]) {
    const { request, parts } = readJobspec(text);
    expect(request).toMatchObject([[{ type: "node", count: 2, with: [] }]]);
    expect(parts).toHaveLength(1);
  }
});

test("caches the most recent texts, drops the one unused for longest, and parses long ones each time", async () => {
  const read = createJobspecReader(async (text) => parseJobspec(text));
  const first = read(spec("0", 1));
  expect(read(spec("0", 1))).toBe(first);
  for (let at = 1; at < limits.knownJobspecsMax; at++) await read(spec(String(at), 1));
  expect(read(spec("0", 1))).toBe(first);
  const second = read(spec("1", 1));
  await read(spec("one more", 1));
  await read(spec("two more", 1));
  expect(read(spec("1", 1))).toBe(second);
  const long = `${spec("long", 1)}${" ".repeat(limits.knownJobspecCharsMax)}`;
  expect(await read(long)).not.toBe(await read(long));
});

test("a wrong text is an error each time", () => {
  const read = createJobspecReader(async (text) => parseJobspec(text));
  for (let time = 0; time < 2; time++) expect(() => read("version: 2")).toThrow("version");
});
