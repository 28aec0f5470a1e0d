import { StepCounter } from "./count-steps.ts";
import { hostileGraphql } from "./hostile-graphql.ts";

// Prints how many steps it takes to check each hostile document of several sizes: see graphql-cost.test.ts.

const sizes = process.argv.slice(2).map(Number);
const counter = new StepCounter(/\/node_modules\/graphql\/|\/src\/(?:api\/native\/graphql|wire)\//);
await counter.start();
const { createSchema } = await import("../../../src/api/native/graphql/schema.ts");
const { readDocument, operationOf } =
  await import("../../../src/api/native/graphql/documents/read-document.ts");
const { measure } = await import("../../../src/api/native/graphql/documents/measure.ts");
const schema = createSchema();

function check(text: string): void {
  try {
    const document = readDocument(schema, text);
    measure(schema, { document, operation: operationOf(document, undefined), variables: {} });
  } catch {
    // Rejected, as most of these should be.
  }
}

check("{ stats { version } __schema { types { name } } }"); // one-time work
const steps: Record<string, readonly number[]> = {};
for (const [name, make] of Object.entries(hostileGraphql)) {
  const counts: number[] = [];
  for (const size of sizes) counts.push(await counter.count(() => check(make(size))));
  steps[name] = counts;
}
process.stdout.write(JSON.stringify(steps));
