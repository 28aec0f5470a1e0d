// A process that hosts an executor, to be killed: it executes the lines of JSON on its stdin in order, and answers each with the runs it
// knows. Started by process-restart.test.ts.
import { createInterface } from "node:readline";

import type { LauncherKind } from "../../../src/agent/executors/process/process-executor.ts";
import { createProcessExecutor } from "../../../src/agent/executors/process/process-executor.ts";
import type { RunId, RunRequest } from "../../../src/ports/executor.ts";
import { silentLogger } from "../../../src/testing/silent-logger.ts";
import { realClock } from "./process-bed.ts";

export type HostOrder =
  | { readonly kind: "start"; readonly request: RunRequest }
  | { readonly kind: "stop"; readonly id: RunId }
  | { readonly kind: "known" };

const [directory = "", launcher, launcherProgram] = process.argv.slice(2);
const executor = await createProcessExecutor({
  directory,
  clock: realClock,
  logger: silentLogger,
  launcher: launcher as LauncherKind,
  launcherProgram,
});
const answer = (): boolean => process.stdout.write(`${JSON.stringify(executor.known())}\n`);
answer();
for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line) as HostOrder;
  if (order.kind === "start") executor.start(order.request);
  if (order.kind === "stop") executor.stop(order.id);
  await new Promise((resolve) => setImmediate(resolve)); // until the requested action has begun
  answer();
}
