import type { RunRequest } from "../../ports/executor.ts";

/** A request to run `true` as the only task of job `jobId`, with no output. */
export const aRunRequest = (jobId: number, over: Partial<RunRequest> = {}): RunRequest => ({
  id: { jobId, index: 0, attempt: 1 },
  name: `j${jobId}`,
  arrayIndex: undefined,
  work: { kind: "command", argv: ["true"] },
  request: undefined,
  needs: {},
  env: {},
  cwd: undefined,
  timeLimitMs: undefined,
  killGraceMs: 0,
  outputLimitBytes: 0,
  ...over,
});
