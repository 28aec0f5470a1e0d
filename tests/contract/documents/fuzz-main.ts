import { parseArgs } from "node:util";
import { AppError } from "../../../src/lib/errors.ts";
import { StepCounter } from "./count-steps.ts";
import { hostileBytes, hostileText, numbersFrom } from "./hostile-inputs.ts";

// Reads hostile inputs and prints its findings: `npm run fuzz -- --runs 10000 --seed 7`. An input
// may be rejected, and may take some steps for each of its characters; for anything else this
// prints the input, and exits with 1.

const { values } = parseArgs({
  options: { runs: { type: "string", default: "1000" }, seed: { type: "string", default: "1" } },
});
/** Code blocks that V8 counts: three times the worst observed input. */
const STEPS_PER_CHAR = 400;
const STEPS_ONCE = 200_000;
const SHOWN_MAX = 10;

const counter = new StepCounter(/\/yaml\/dist\/|\/src\//);
await counter.start();
const { byteTargets, textTargets } = await import("./fuzz-targets.ts");
const found: { target: string; problem: string; input: string }[] = [];
let [inputs, refused, most] = [0, 0, 0];

async function run(target: string, input: string | Uint8Array, read: () => unknown) {
  inputs += 1;
  let problem: string | undefined;
  const steps = await counter.count(() => {
    try {
      read();
    } catch (error) {
      if (error instanceof AppError && error.code !== "internal") refused += 1;
      else problem = error instanceof Error ? (error.stack ?? error.message) : String(error);
    }
  });
  most = Math.max(most, steps / (input.length + STEPS_ONCE / STEPS_PER_CHAR));
  if (steps > STEPS_PER_CHAR * input.length + STEPS_ONCE) problem ??= `took ${steps} steps`;
  if (problem === undefined) return;
  const shown = typeof input === "string" ? input : Buffer.from(input).toString("base64");
  found.push({ target, problem, input: shown });
}

for (let at = 0; at < Number(values.runs) && found.length < SHOWN_MAX; at++) {
  const random = numbersFrom(Number(values.seed) * 1_000_003 + at);
  const [text, bytes] = [hostileText(random), hostileBytes(random)];
  for (const [name, read] of Object.entries(textTargets)) await run(name, text, () => read(text));
  for (const [name, read] of Object.entries(byteTargets)) await run(name, bytes, () => read(bytes));
}
process.stdout.write(
  `${JSON.stringify({ inputs, refused, stepsPerCharMost: Math.round(most), found }, null, 2)}\n`,
);
process.exitCode = found.length === 0 ? 0 : 1;
