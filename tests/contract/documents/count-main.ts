import { StepCounter } from "./count-steps.ts";
import { hostileYaml } from "./hostile-yaml.ts";

// Prints how many steps the reader takes for each hostile text of two sizes: see cost.test.ts.

const [few, many] = process.argv.slice(2).map(Number);
const counter = new StepCounter(/\/yaml\/dist\/|\/src\/lib\//);
await counter.start();
const { parseYamlTree } = await import("../../../src/lib/yaml/yaml-tree.ts");
const bounds = { charsMax: 10_000_000, depthMax: 64, valuesMax: 100_000 };
const steps: Record<string, readonly number[]> = {};
for (const [name, make] of Object.entries(hostileYaml)) {
  const count = (size = 0): Promise<number> =>
    counter.count(() => void parseYamlTree(make(size), bounds));
  steps[name] = [await count(few), await count(many)];
}
process.stdout.write(JSON.stringify(steps));
