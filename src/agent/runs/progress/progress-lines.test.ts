import { expect, test } from "vitest";
import { lastProgress } from "./progress-lines.ts";

test.each<[string, string, boolean, unknown]>([
  ["one line", "40 step 3\n", false, { percent: 40, message: "step 3" }],
  ["the last of several", "10 a\n20 b\n", false, { percent: 20, message: "b" }],
  ["a line whose end is on its way waits", "10 a\n20 b", false, { percent: 10, message: "a" }],
  ["unless there is no other", "20", false, { percent: 20, message: "" }],
  ["lines of Windows", "10 a\r\n", false, { percent: 10, message: "a" }],
  ["what is none is passed over", "10 a\nnonsense\n\n", false, { percent: 10, message: "a" }],
  [
    "the first line of what was cut is not whole",
    "0 a\n20 b\n",
    true,
    { percent: 20, message: "b" },
  ],
  ["nothing but that", "0 a", true, undefined],
  [
    "a file that was emptied under its writer",
    "\0\0\0\n30 c\n",
    false,
    { percent: 30, message: "c" },
  ],
  ["nothing", "", false, undefined],
  ["zeros", "\0\0\0", false, undefined],
])("%s", (_name, text, isCut, want) => {
  expect(lastProgress(text, isCut)).toEqual(want);
});
