import { expect, test } from "vitest";
import { interpreterOf } from "./commands.ts";

const lines: readonly (readonly [script: string, words: readonly string[]])[] = [
  ["echo hi", ["/bin/sh"]],
  ["", ["/bin/sh"]],
  ["#!/bin/sh", ["/bin/sh"]],
  ["#!/bin/sh\necho hi\n", ["/bin/sh"]],
  ["#! \t/bin/sh -e  -x \t\necho", ["/bin/sh", "-e  -x"]],
  ["#!/usr/bin/env -S cat -A\n", ["/usr/bin/env", "-S cat -A"]],
  ["#!/bin/sh\r\necho\r\n", ["/bin/sh\r"]],
  // The kernel would look for it in the working directory, a shell on its search path.
  ["#!python3\n", []],
  ["#!\n/bin/sh\n", []],
  [`#!/bin/${"x".repeat(5_000)}\n`, []],
];
test.each(lines)("the interpreter of %j, and its one argument", (script, words) => {
  expect(interpreterOf(script)).toEqual(words);
});
