import { describe, expect, test } from "vitest";

import type { EndedReport } from "../../../ports/executor.ts";
import { aRunRequest } from "../../testing/run-request.ts";
import type { RemoteRunState } from "./run.ts";
import { RemoteRun } from "./run.ts";
import { NO_TERMS } from "./run-file.ts";

const ID = { jobId: 1, index: 0, attempt: 1 };
const request = aRunRequest(ID.jobId);
const start = { request, attempt: "first" } as const;
const report: EndedReport = {
  kind: "ended",
  startedAtMs: 1,
  endedAtMs: 2,
  end: { kind: "exited", exitCode: 0 },
};
const states: Readonly<Record<RemoteRunState["kind"], RemoteRunState>> = {
  sent: { kind: "sent", start },
  answered: { kind: "answered", start },
  installing: { kind: "installing" },
  seen: { kind: "seen", claimedSinceMs: undefined },
  found: { kind: "found", claimedSinceMs: undefined },
  stopping: { kind: "stopping" },
  ended: { kind: "ended", report, left: { kind: "nothing" } },
};

const aRun = (...path: RemoteRunState["kind"][]): RemoteRun => {
  const run = new RemoteRun(ID, { ...NO_TERMS, sentAtMs: 7 }, 0, { kind: "sent", start });
  for (const kind of path) run.move(states[kind]);
  return run;
};

describe("a run on a remote machine", () => {
  test("is sent again after an answer that nothing had begun, once the scripts are there", () => {
    expect(aRun("answered", "installing", "sent", "seen").state.kind).toBe("seen");
    expect(() => aRun("answered", "sent")).toThrow("cannot go from answered to sent");
  });

  test("has one answer, in whatever order answer and files arrive", () => {
    expect(aRun("answered", "found", "ended").state.kind).toBe("ended");
    expect(aRun("seen", "found", "ended").state.kind).toBe("ended");
    expect(() => aRun("found")).toThrow("cannot go from sent to found");
    expect(() => aRun("seen", "answered")).toThrow("cannot go from seen to answered");
    expect(() => aRun("answered", "found", "seen")).toThrow("cannot go from found to seen");
  });

  test("whose files were seen is never sent again", () => {
    expect(() => aRun("seen", "sent")).toThrow("cannot go from seen to sent");
    expect(() => aRun("seen", "found", "sent")).toThrow("cannot go from found to sent");
  });

  test("that is being stopped only ends, and only once", () => {
    for (const kind of ["sent", "answered", "installing", "seen", "found", "stopping"] as const) {
      expect(() => aRun("stopping", kind)).toThrow("cannot go from stopping");
      expect(() => aRun("stopping", "ended", kind)).toThrow("cannot go from ended");
    }
    expect(() => aRun("ended", "ended")).toThrow("cannot go from ended");
  });

  test("is reported as running once its machine has it, and never after its end", () => {
    const run = aRun();
    expect(run.report).toBeUndefined();
    expect(run.begin()).toBe(true);
    expect(run.begin()).toBe(false);
    expect(run.report).toEqual({ kind: "running", startedAtMs: 7 });
    run.move(states.ended);
    expect(run.report).toBe(report);
    const unreported = aRun("ended");
    expect(unreported.begin()).toBe(false);
    expect(unreported.report).toBe(report);
  });

  test("is polled sooner when no command will report its end, and not while it is being stopped", () => {
    const patience = (...path: RemoteRunState["kind"][]): number => aRun(...path).patienceMs;
    expect(patience("answered")).toBeLessThan(patience());
    expect(patience("seen", "found")).toBeLessThan(patience("seen"));
    expect(patience("stopping")).toBe(Number.POSITIVE_INFINITY);
  });
});
