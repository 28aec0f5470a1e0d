import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

// A vitest of its own over files that end in every way a test can.
const root = fileURLToPath(new URL("../..", import.meta.url));
const reporter = join(root, "tests/support/closing-line.ts");
const FILES = {
  "mixed.test.ts": `
    import { describe, expect, test } from "vitest";
    test("right", () => expect(1).toBe(1));
    describe("inside", () => test("right too", () => expect(1).toBe(1)));
    test("wrong", () => expect(1).toBe(2));
    test.skip("skipped", () => {});
    test.todo("to do");`,
  "hook.test.ts": `
    import { beforeAll, test } from "vitest";
    beforeAll(() => { throw new Error("no bed") });
    test("never begins", () => {});`,
  "unsteady.test.ts": `
    import { expect, test } from "vitest";
    let tries = 0;
    test("right at the second try", { retry: 1 }, () => expect(++tries, "tries").toBe(2));`,
  "unloadable.test.ts": `import "./nothing-here.ts";`,
  "right.test.ts": `
    import { test } from "vitest";
    test("right", () => {});`,
};

let directory = "";
beforeEach(() => {
  const cache = join(root, "node_modules/.cache"); // below the packages that the files import
  mkdirSync(cache, { recursive: true });
  directory = mkdtempSync(join(cache, "closing-line-"));
  const config = `
    import { ClosingLine } from ${JSON.stringify(reporter)};
    export default { test: { reporters: ["default", new ClosingLine()] } };`;
  writeFileSync(join(directory, "vitest.config.ts"), config);
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(directory, name), text);
});
afterEach(() => rmSync(directory, { recursive: true }));

function outputOf(...files: readonly string[]): readonly [string, number | null] {
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const args = [vitest, "run", "--root", directory, "--maxWorkers", "1", ...files];
  const { VITEST: _, ...env } = process.env;
  const { stdout, status } = spawnSync(process.execPath, args, { encoding: "utf8", env });
  return [stdout, status];
}

function lastLineOf(...files: readonly string[]): readonly [string | undefined, number | null] {
  const [stdout, status] = outputOf(...files);
  return [stdout.split("\n").at(-2), status];
}

test("a run ends with a line that counts its tests, whatever failed", () => {
  expect(lastLineOf("right")).toEqual(["1 passed, 0 failed, 0 skipped", 0]);
  expect(lastLineOf("mixed")).toEqual(["2 passed, 1 failed, 2 skipped", 1]);
  expect(lastLineOf("unloadable")).toEqual(["0 passed, 1 failed, 0 skipped", 1]);
  expect(lastLineOf("no-such-file")).toEqual(["0 passed, 1 failed, 0 skipped", 1]);
  expect(lastLineOf()).toEqual(["4 passed, 3 failed, 3 skipped", 1]);
});

test("a test that passed at its second try is named with its first failure", () => {
  const [stdout, status] = outputOf("unsteady");
  expect(status).toBe(0);
  const [named, why, last] = stdout.split("\n").slice(-4);
  expect(named).toContain(
    "UNSTEADY (failed, then passed): unsteady.test.ts > right at the second try",
  );
  expect(why).toContain("tries: expected 1 to be 2");
  expect(last).toBe("1 passed, 0 failed, 0 skipped");
});
