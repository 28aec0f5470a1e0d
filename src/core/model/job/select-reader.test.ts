import { expect, test, vi } from "vitest";
import { limits } from "../../../limits.ts";
import { constraint } from "../../select/constraint.ts";
import { checkSelectSize, SelectReader } from "./select-reader.ts";

const aText = (chars: number, mark = ""): string => {
  const rule = "- priority: 1\n  steps:\n    - select: first\n# ";
  return rule + mark.padEnd(chars - rule.length, "x");
};
const asking = (priorities: string) => ({ strategy: "constraint", options: { priorities } });

test("equal options of one submission are parsed and stored once", () => {
  const prepare = vi.spyOn(constraint, "prepare");
  const reader = new SelectReader();
  const [one, other] = [aText(10_000, "a"), aText(10_000, "b")];
  const first = reader.read(asking(one));
  reader.read(asking(other));
  for (let at = 0; at < 100; at++) {
    const again = reader.read({ ...asking(one), parameters: { at } });
    expect(again.options).toBe(first.options);
    expect(again.parameters).toEqual({ at });
  }
  expect(prepare).toHaveBeenCalledTimes(2);
  prepare.mockRestore();
});

test("different options of one submission have a bounded total", () => {
  const prepare = vi.spyOn(constraint, "prepare");
  const reader = new SelectReader();
  const read = () => {
    for (let at = 0; at < 1_000; at++) reader.read(asking(aText(10_000, String(at))));
  };
  expect(read).toThrow(expect.objectContaining({ code: "unprocessable", field: "select.options" }));
  expect(prepare.mock.calls.length * 10_000).toBeLessThan(limits.selectCharsPerSubmissionMax);
  prepare.mockRestore();
});

test("deep nesting is rejected before anything walks into it", () => {
  let deep: unknown = 1;
  for (let at = 0; at < 100_000; at++) deep = [deep];
  for (const name of ["options", "parameters"]) {
    expect(() => checkSelectSize({ [name]: { deep } }, "select")).toThrow(
      `select.${name}: has at most ${limits.selectOptionsDepthMax} levels of nesting`,
    );
  }
});
