import * as fc from "fast-check";
import { expect, test } from "vitest";
import { formatMetrics, gauges } from "../../api/native/http/prometheus.ts";
import { printable, printableJson } from "../../cli/render/page.ts";
import { aHello, aSpec } from "../../testing/builders.ts";
import { World } from "../../testing/world.ts";
import { AppError } from "../../lib/errors.ts";
import type { NodeHello } from "../state/command.ts";
import { nodeId } from "./ids.ts";
import { addInto, fromResources, subtractFrom } from "./resources.ts";
import { isPrintable, visible } from "./texts.ts";

const words = [
  "constructor",
  "toString",
  "__proto__",
  "hasOwnProperty",
  "valueOf",
  "cpu",
  "a\u001b[31m",
];
const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 300 }),
  fc.string({ maxLength: 300 }),
  fc.constantFrom(...words, "x".repeat(5_000), "a\nb", "\u202eabc", "\ud800"),
);

/** The result of a command with a text: rejected with the field, or stored. */
function stored<Result>(field: RegExp, run: () => Result): Result | undefined {
  try {
    return run();
  } catch (error) {
    expect(error).toBeInstanceOf(AppError);
    expect((error as AppError).code).toBe("invalid_argument");
    expect((error as AppError).field).toMatch(field);
    return undefined;
  }
}

const NO_CONTROL = /^[^\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]*$/u;

const hellos: readonly [string, (text: string) => Partial<NodeHello>][] = [
  ["nodeId", (text) => ({ nodeId: nodeId(text) })],
  ["cluster", (cluster) => ({ cluster })],
  ["capacity", (text) => ({ capacity: Object.fromEntries([[text, 5]]) })],
  ["labels", (text) => ({ labels: Object.fromEntries([[text, "x"]]) })],
  ["label values", (text) => ({ labels: { zone: text } })],
  ["agentVersion", (agentVersion) => ({ agentVersion })],
  ["bootId", (bootId) => ({ bootId })],
  ["sickness", (sickness) => ({ sickness })],
];
for (const [name, helloOf] of hellos) {
  test(`any text as ${name} of an agent is refused by its field, or shown safely`, () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const world = new World();
        const hello = aHello("n1", helloOf(text));
        const done = stored(/^hello\./, () => {
          world.do({ kind: "connect-node", ...hello });
          return true;
        });
        if (done === undefined) {
          expect(world.changes).toEqual([]);
          return;
        }
        const texts: string[] = [];
        JSON.stringify(world.state.nodes.get(hello.nodeId)?.node, (key, value: unknown) => {
          texts.push(key, typeof value === "string" ? value : "");
          return value;
        });
        expect(texts.filter((each) => !isPrintable(each))).toEqual([]);
        const amounts = fromResources(hello.capacity);
        const metrics = formatMetrics([gauges("busbar_capacity", "help", "resource", amounts)]);
        expect(metrics).not.toContain("NaN");
      }),
    );
  });
}

test("any text as a name, group or label of a job is rejected by its field, or printable", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      for (const [field, input] of [
        [/^name/, { name: text }],
        [/^group/, { group: text }],
        [/^labels/, { labels: Object.fromEntries([[text, "x"]]) }],
        [/^labels/, { labels: { a: text } }],
        [/^placement/, { placement: { labels: Object.fromEntries([[text, "x"]]) } }],
      ] as const) {
        const spec = stored(field, () => aSpec(input));
        if (spec !== undefined)
          expect(JSON.stringify([spec.name, spec.group, spec.labels])).toMatch(NO_CONTROL);
      }
      const named = stored(/^command/, () => aSpec({ command: [text] }));
      if (named !== undefined) {
        expect(isPrintable(named.name)).toBe(true);
        expect(named.name.length).toBeLessThanOrEqual(128);
      }
    }),
  );
});

test("control characters are shown by symbols, and nothing else changes", () => {
  expect(visible("a\u001b[31m\nb\u007f\u202e", 100)).toBe("a␛[31m␊b␡\ufffd");
  fc.assert(
    fc.property(anyText, (text) => {
      const shown = visible(text, 100);
      expect(isPrintable(shown)).toBe(true);
      expect(shown.length).toBeLessThanOrEqual(100);
      if (isPrintable(text) && text.length <= 100) expect(shown).toBe(text);
    }),
  );
});

test("amounts of earlier versions that are named like properties of Object.prototype still add up", () => {
  const total: Record<string, number> = {};
  addInto(total, { constructor: 3, cpu: 1 });
  addInto(total, { constructor: 4 });
  expect(Object.entries(total)).toEqual([
    ["constructor", 7],
    ["cpu", 1],
  ]);
  expect(fromResources(total)["constructor"]).toBe(7);
  subtractFrom(total, { constructor: 7 });
  expect(Object.hasOwn(total, "constructor")).toBe(false);
});

test("no printed text has a control character, whatever its source", () => {
  fc.assert(
    fc.property(anyText, fc.boolean(), (text, colour) => {
      const page = { colour };
      const printed = printable(`x ${text}\n\u001b[31m${text}\u001b[39m`, page);
      const rest = colour ? printed.replace(/\p{Cc}\[(?:31|39)m/gu, "") : printed;
      expect(rest.replace(/[\n\t]/g, "")).toMatch(NO_CONTROL);
      const json = printableJson(JSON.stringify({ text }));
      expect(json).toMatch(NO_CONTROL);
      expect((JSON.parse(json) as { text: string }).text).toBe(text);
    }),
  );
});
