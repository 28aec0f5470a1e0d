import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseInSlices } from "./json-slices.ts";

const bounds = { jsonDepthMax: 8, jsonPartsMax: 40 };

interface Parsed {
  readonly value: unknown;
  readonly slices: number;
  readonly longest: number;
}

function parse(text: string, within = bounds): Parsed {
  let longest = 0;
  const work = parseInSlices(text, "jobs", within, (part) => {
    longest = Math.max(longest, part.length);
    return JSON.parse(part);
  });
  for (let slices = 0; ; slices++) {
    const { done, value } = work.next();
    if (done === true) return { value, slices, longest };
  }
}

const text = fc.oneof(fc.string(), fc.constantFrom('"', "\\", '\\"', "[", ",", '"jobs":['));
// JSON.parse of Node 26.10 may take the key `"` for an earlier key `\`: keys here have no backslash.
const key = text.map((any) => any.replaceAll("\\", ""));
const item = fc.oneof(
  text,
  fc.integer(),
  fc.constant(null),
  fc.dictionary(key, fc.oneof(text, fc.array(text, { maxLength: 3 })), { maxKeys: 3 }),
);

test("is JSON.parse, however the text is written and whatever strings contain", () => {
  const rest = fc.record({ a: text, jobsOf: item }, { requiredKeys: [] });
  const isFirst = fc.boolean();
  const spaces = fc.constantFrom(0, 1);
  fc.assert(
    fc.property(
      fc.array(item, { maxLength: 60 }),
      rest,
      isFirst,
      spaces,
      (jobs, others, first, by) => {
        const body = first ? { jobs, ...others } : { ...others, jobs };
        expect(parse(JSON.stringify(body, null, by)).value).toEqual(body);
      },
    ),
  );
});

test("a long list is parsed some items at a time, with other work between", () => {
  const body = { jobs: Array.from({ length: 1_000 }, (_, id) => ({ id })), note: "end" };
  const { value, slices, longest } = parse(JSON.stringify(body));
  expect(value).toEqual(body);
  expect(slices).toBeGreaterThan(50);
  expect(longest).toBeLessThan(500);
});

const MANY = Array.from({ length: 60 }, () => []);
const LIST = MANY.map(() => "[]").join();
const wrong: readonly [name: string, body: string, words: RegExp][] = [
  ["one item beyond the bounds", JSON.stringify({ jobs: [1, MANY, 2] }), /more than 40 objects/],
  ["another list beyond the bounds", JSON.stringify({ jobs: [1], a: MANY }), /more than 40/],
  ["a list at the top", JSON.stringify(MANY), /more than 40/],
  ["the list twice", `{"jobs":[${LIST}],"jobs":[${LIST}]}`, /more than 40/],
  ["a deep item", `{"jobs":[${LIST},${"[".repeat(9)}${"]".repeat(9)}]}`, /8 levels deep/],
  ["a list that does not end", `{"jobs":[${LIST}`, /more than 40/],
  ["an item that is no JSON", `{"jobs":[${LIST},x,${LIST}]}`, /jobs after character/],
  ["two commas", `{"jobs":[${LIST},,${LIST}]}`, /jobs after character/],
  ["a comma at the end", `{"jobs":[${LIST},]}`, /jobs after character/],
  ["text behind it", `{"jobs":[${LIST}]} x`, /JSON/],
];
test.each(wrong)("%s is rejected with the place", (_, body, words) => {
  expect(() => parse(body)).toThrow(SyntaxError);
  expect(() => parse(body)).toThrow(words);
});

test("a key that only ends like the list's is another key", () => {
  const body = { 'a"jobs': MANY, b: 1 };
  expect(() => parse(JSON.stringify(body))).toThrow(/more than 40/);
});
