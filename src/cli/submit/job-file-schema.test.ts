import { readFileSync } from "node:fs";
import { Compile } from "typebox/schema";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { parseJobFile } from "./job-file.ts";
import { jobFileSchema } from "./job-file-schema.ts";

// Like an editor: the file as plain data, and a validator that knows nothing of Busbar.
const validator = Compile(jobFileSchema() as never);
const isValid = (content: string): boolean =>
  parseAllDocuments(content).every((document) => validator.Check(document.toJS() as unknown));

const example = (name: string): string =>
  readFileSync(new URL(`../../../examples/${name}`, import.meta.url), "utf8");

function isAccepted(content: string): boolean {
  try {
    parseJobFile(content, "jobs.yaml");
    return true;
  } catch {
    return false;
  }
}

const RIGHT: readonly (readonly [name: string, content: string])[] = [
  ["examples/jobs.yaml", example("jobs.yaml")],
  ["examples/pipeline.yaml", example("pipeline.yaml")],
  [
    "the one of the help",
    "name: train\ncommand: [python3, train.py]\nresources: { cpu: 2, memory: 4GiB }\ntimeLimit: 1h30m\n" +
      "retries: 3\ndependsOn: [prepare, { afterany: cleanup }]\n",
  ],
  ["several documents", "command: [a]\n---\n- script: b\n  nice: 5\n  comment: for people\n"],
  ["numbers as texts", "command: [sleep, 1]\nenv: { A: 1 }\nlabels: { rack: 7 }\narray: 3"],
  [
    "sizes and durations",
    "script: a\nresources: { disk: 20GiB }\noutputLimit: 1MiB\nkillGrace: 0\nqueueDeadline: 2d\n",
  ],
  ["placement and selection", "script: a\nplacement: { cluster: b }\nselect: { strategy: random }"],
  [
    "terms of a service",
    "command: [a]\nservice: { restart: on-failure, backoff: 2s, resetAfter: 10m }\n",
  ],
  [
    "containers",
    "containers: [{ name: a, image: 'oci:/a:1', env: { PORT: 8080 }, command: [x, 1] }]\n",
  ],
  ["a request", "script: a\nrequest: [[{ type: node, with: [{ type: core, count: 2 }] }]]\n"],
];
const WRONG: readonly (readonly [name: string, content: string])[] = [
  ["a misspelt key", "command: [a]\ntimelimit: 5m\n"],
  ["nothing to run", "name: a\n"],
  ["two things to run", "command: [a]\nscript: b\n"],
  ["a duration without a unit", "command: [a]\ntimeLimit: 5\n"],
  ["too much niceness", "command: [a]\nnice: 20\n"],
  ["a duration as the wire has it", "command: [a]\nservice: { backoffMs: 2000 }\n"],
  ["retries below 0", "command: [a]\nretries: -1\n"],
  ["a command as a text", "command: sleep 1\n"],
  ["an unknown kind of dependency", "command: [a]\ndependsOn: { afterall: b }\n"],
  ["resources beside a request", "script: a\nresources: { cpu: 1 }\nrequest: [[{ type: core }]]\n"],
];

for (const [name, content] of RIGHT) {
  test(`accepts ${name}, as submit does`, () => {
    expect([isValid(content), isAccepted(content)]).toEqual([true, true]);
  });
}
for (const [name, content] of WRONG) {
  test(`rejects ${name}, as submit does`, () => {
    expect([isValid(content), isAccepted(content)]).toEqual([false, false]);
  });
}
