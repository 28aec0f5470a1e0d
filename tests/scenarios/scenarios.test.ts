import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parseTranscript, runTranscript } from "./transcript.ts";

const folder = new URL("transcripts/", import.meta.url);

/** UPDATE_TRANSCRIPTS=1 writes the actual results; read the difference before you commit it. */
const isUpdate = process.env["UPDATE_TRANSCRIPTS"] === "1";

describe("scenarios", () => {
  for (const name of readdirSync(folder).filter((file) => file.endsWith(".txt"))) {
    test(name.replace(/\.txt$/, "").replaceAll("-", " "), () => {
      const file = new URL(name, folder);
      const text = readFileSync(file, "utf8");
      const steps = parseTranscript(text);
      const got = runTranscript(steps);
      if (isUpdate) writeFileSync(file, rewrite(text, got));
      else
        expect(steps.map(({ line }, at) => `${line}\n${got[at]}`)).toEqual(
          steps.map(({ line, want }) => `${line}\n${want}`),
        );
    });
  }
});

/** Keeps comments and input, replaces the printed lines. */
function rewrite(text: string, got: readonly string[]): string {
  let at = 0;
  const blocks = text
    .trimEnd()
    .split("\n\n")
    .map((block) => {
      const rule = block.split("\n").findIndex((line) => line === "----");
      if (rule < 0) return block;
      return [...block.split("\n").slice(0, rule + 1), got[at++] ?? ""].join("\n");
    });
  return `${blocks.join("\n\n")}\n`;
}
