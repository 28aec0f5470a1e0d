import { describe, expect, test } from "vitest";

import { stopSignalOf } from "./stop-signal.ts";

describe("the stop signal of an image", () => {
  const cases = [
    [undefined, 15],
    ["", 15],
    ["SIGTERM", 15],
    ["SIGQUIT", 3],
    ["quit", 3],
    ["3", 3],
    ["SIGWINCH", 28],
    ["CLD", 17],
    ["9", 9],
    ["64", 64],
    ["SIGRTMIN", 34],
    ["SIGRTMIN+3", 37],
    ["rtmin+15", 49],
    ["RTMAX", 64],
    ["SIGRTMAX-14", 50],
  ] as const;
  for (const [text, number] of cases) {
    test(`${text} is ${number}`, () => {
      expect(stopSignalOf(text)).toEqual({ number, note: undefined });
    });
  }

  const unknown = [
    "SIGNONE",
    "0",
    "65",
    "-9",
    "3; reboot",
    "SIGRTMIN+31",
    "SIGRTMIN-1",
    "SIGRTMAX-31",
    "SIGRTMAX+1",
    "SIG",
    "SIG3",
    " 3",
    "constructor",
    "3\n",
  ];
  for (const text of unknown) {
    test(`${JSON.stringify(text)} is none: TERM, and a note`, () => {
      const { number, note } = stopSignalOf(text);
      expect(number).toBe(15);
      expect(note).toContain(`the image's stop signal ${JSON.stringify(text)} is no signal`);
    });
  }
});
