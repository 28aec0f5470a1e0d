import type { Command } from "commander";
import { expect, test } from "vitest";
import { createProgram, declareAll } from "./program.ts";
import type { Shell } from "./session.ts";
import { isRepeatable } from "./single-flags.ts";
import { runHere } from "./testing/context.ts";

test("a flag with one value that is given twice is wrong usage, and the error names both values", async () => {
  const lines = [
    "agent --name a --name b",
    "jobs --group a --group b",
    "server --data a --data b",
    "up --grpc 127.0.0.1:1 --grpc 127.0.0.1:2",
    "nodes set x --on-lost keep --on-lost fail",
    "submit --name a --name b -- true",
    "stats -o json --output json",
    "cancel 7 --reason a --reason b",
  ];
  for (const line of lines) {
    const { code, stdout, stderr, started } = await runHere(line.split(" "));
    expect([line, code, started]).toEqual([line, 2, []]);
    expect(stdout + stderr).toMatch(/--[\w-]+: takes one value, not both .* and /);
  }
});

test("flags that collect may be repeated, and a global flag may be before and after the name", async () => {
  const line = "--server a:1 agent --server b:1 --server c:1,d:1 --label x=1 --label y=2";
  const { started } = await runHere(line.split(" "));
  expect(started).toMatchObject([{ servers: ["b:1", "c:1", "d:1"], labels: { x: "1", y: "2" } }]);
  const { code, stderr } = await runHere("agent --server a:1 --server nonsense".split(" "));
  expect(code).toBe(2);
  expect(stderr).toMatch(/--server: "nonsense" is not an address with a port/);
});

test("flags that help calls repeatable are", async () => {
  const shell = { context: { env: {}, hostname: "here" } } as unknown as Shell;
  const nothing = (): void => undefined;
  const program = createProgram(shell, { writeOut: nothing, writeErr: nothing, width: 100 });
  await declareAll(program, shell);
  const all = (command: Command): Command[] => [command, ...command.commands.flatMap(all)];
  const options = all(program).flatMap((command) => command.options);
  const repeatable = options.filter(({ description }) =>
    /repeatable|given several times|several: /.test(description),
  );
  expect(repeatable.length).toBeGreaterThan(10);
  expect(repeatable.filter((option) => !isRepeatable(option)).map(({ flags }) => flags)).toEqual(
    [],
  );
});
