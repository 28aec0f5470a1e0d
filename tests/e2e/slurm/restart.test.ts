import { spawn } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { RunRequest } from "../../../src/ports/executor.ts";
import { aRequest, endOfRun } from "../../contract/executor/executor-contract.ts";
import { makeSlurmBed } from "../../support/slurm-bed.ts";
import type { DeathPoint } from "../../support/slurm-host.ts";
import type { Slurm } from "../../support/slurm.ts";
import { startSlurm } from "../../support/slurm.ts";

const HOST = fileURLToPath(new URL("../../support/slurm-host.ts", import.meta.url));

/** A single one, an array of three, and a jobspec of two steps: four submissions, in this order. */
function requestsOf(ledger: string): readonly RunRequest[] {
  const line = (text: string): string => `echo ${text} >>${ledger}`;
  const script = (text: string) => ({ kind: "script", text }) as const;
  const array = [0, 1, 2].map((index) =>
    aRequest(script(`${line(`array-${index}`)}; exit ${index}`), {
      id: { jobId: 2, index, attempt: 1 },
      arrayIndex: index,
    }),
  );
  const task = (name: string, rest: string): string =>
    `  - {name: ${name}, command: [sh, -c, "${line(name)}"], resources: one${rest}}`;
  const jobspec = [
    "version: 1",
    "resources: {one: {type: core, count: 1}}",
    "tasks:",
    task("first", ""),
    task("second", ", depends_on: [first]"),
  ].join("\n");
  return [
    aRequest(script(`${line("alone")}; exit 7`)),
    ...array,
    aRequest({ kind: "jobspec", text: jobspec }, { id: { jobId: 3, index: 0, attempt: 1 } }),
  ];
}

describe("an agent that is killed over Slurm", () => {
  let slurm: Slurm;
  beforeAll(async () => {
    slurm = await startSlurm();
  });
  afterAll(async () => {
    await slurm.stop();
  });

  /** Ends with the signal with which it kills itself. */
  function host(
    directory: string,
    at: string[],
    requests: readonly RunRequest[],
  ): Promise<unknown> {
    const env = { ...process.env, ...slurm.env };
    const stdio = ["pipe", "inherit", "inherit"] as const;
    const child = spawn(process.execPath, [HOST, directory, ...at], { env, stdio: [...stdio] });
    child.stdin.end(JSON.stringify(requests));
    return new Promise((resolve) => void child.once("exit", (_code, signal) => resolve(signal)));
  }

  const cases: readonly [DeathPoint, number][] = [
    ...[1, 2, 3, 4].flatMap((nth): [DeathPoint, number][] => [
      ["before-submit", nth],
      ["in-submit", nth],
      ["after-submit", nth],
    ]),
    ["after-poll", 1],
    ["after-poll", 2],
  ];
  for (const [point, nth] of cases) {
    test.concurrent(`${point} ${nth}: nothing is lost and nothing runs twice`, async () => {
      const bed = makeSlurmBed(slurm);
      const ledger = join(bed.directory, "ledger");
      writeFileSync(ledger, "");
      const requests = requestsOf(ledger);
      expect(await host(bed.directory, [point, String(nth)], requests)).toBe("SIGKILL");
      const executor = await bed.open();
      try {
        for (const request of requests) executor.start(request);
        const ends = await Promise.all(
          requests.map(async ({ id }) => (await endOfRun(executor, id)).end),
        );
        const exited = (exitCode: number) => ({ kind: "exited", exitCode });
        expect(ends).toEqual([7, 0, 1, 2, 0].map(exited));
      } finally {
        await executor.close();
      }
      const lines = readFileSync(ledger, "utf8").trim().split("\n");
      const want = ["alone", "array-0", "array-1", "array-2", "first", "second"];
      expect(lines.toSorted()).toEqual(want);
      expect(lines.indexOf("second")).toBeGreaterThan(lines.indexOf("first"));
      // Others use the same Slurm: none of their jobs is cancelled.
      rmSync(bed.directory, { recursive: true, force: true, maxRetries: 10 });
    });
  }
});
