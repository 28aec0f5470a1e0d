import { describe, expect, test } from "vitest";
import type { RunEnd } from "../../../ports/executor.ts";
import { programOf } from "../../runs/command-outcome.ts";
import { formatTerms, parseRunFile, parseSurvey, parseTerms } from "./run-file.ts";

const terms = { sentAtMs: 5_000, outputLimitBytes: 100, work: "work.a.1", program: "sh" };
const begun = [formatTerms(terms), "4711 (dash) S 1 4711 4711", "began 10.00"];

describe("terms", () => {
  test("are parsed as they were written", () => {
    expect(parseTerms(formatTerms(terms))).toEqual(terms);
    const own = { ...terms, work: undefined, program: "" };
    expect(parseTerms(formatTerms(own))).toEqual(own);
  });

  test("have one line, whatever the name of the program", () => {
    const argv = [`a\nend\n${"x".repeat(500)}`];
    const program = programOf({ work: { kind: "command", argv } });
    const line = formatTerms({ ...terms, program });
    expect(line).not.toContain("\n");
    expect(line.length).toBeLessThan(300);
  });
});

describe("a run's file", () => {
  const ends: readonly [lines: readonly string[], end: RunEnd][] = [
    [["ended 12.50 0", "end"], { kind: "exited", exitCode: 0 }],
    [["ended 12.50 137", "end"], { kind: "exited", exitCode: 137 }],
    [["said", "ended 12.50 137", "end"], { kind: "signalled", signal: "SIGKILL" }],
    [
      ["unstarted", "ended 12.50 127", "end"],
      { kind: "could-not-start", message: "program not found: sh" },
    ],
    [
      ["unstarted", "ended 12.50 126", "end"],
      { kind: "could-not-start", message: "program cannot be executed: sh" },
    ],
    [["vanished 9000", "end"], { kind: "vanished", message: expect.any(String) as string }],
    [["ended nonsense", "end"], { kind: "vanished", message: expect.any(String) as string }],
  ];
  test.each(ends)("with the end %j", (lines, end) => {
    expect(parseRunFile([...begun, ...lines], false)?.report?.end).toEqual(end);
  });

  test("of a run that was stopped or exceeded its time limit shows that, whatever its exit code", () => {
    const over = [...begun, "said", "ended 12.50 143", "end"];
    const end = (...more: string[]) => parseRunFile([...more, ...over], false)?.report?.end;
    expect(parseRunFile(over, true)?.report?.end).toEqual({ kind: "stopped", signal: "SIGTERM" });
    expect(end("stopping")).toEqual({ kind: "stopped", signal: "SIGTERM" });
    expect(end("stopping", "overtime")).toEqual({ kind: "time-limit", signal: "SIGTERM" });
  });

  test("has times by the server's clock and the machine's uptime", () => {
    const report = parseRunFile([...begun, "ended 12.50 0", "end"], false)?.report;
    expect(report).toMatchObject({ startedAtMs: 5_000, endedAtMs: 7_500 });
    const rebooted = parseRunFile([...begun, "ended 3.00 0", "end"], false)?.report;
    expect(rebooted).toMatchObject({ startedAtMs: 5_000, endedAtMs: 5_000 });
  });

  test("with damaged numbers has times that a server accepts", () => {
    const [first, who] = begun;
    const damaged = ["x", "NaN", "-5", "1e300", "Infinity", "99999999999999999999", "0.5", ""];
    for (const number of damaged) {
      for (const lines of [
        [first, who, `began ${number}`, "ended 12.50 0", "end"],
        [first, who, `began 10.00 ${number}`, `ended ${number} 0`, "end"],
        [first, who, "began 10.00", `vanished ${number}`, "end"],
        [`terms ${number} 100 - sh`, who, "began 10.00", "ended 12.50 0", "end"],
      ] as string[][]) {
        const file = parseRunFile(lines, false);
        for (const ms of [
          file?.startedAtMs ?? 0,
          file?.report?.startedAtMs ?? 0,
          file?.report?.endedAtMs,
        ]) {
          expect([lines, ms, Number.isSafeInteger(ms) && Number(ms) >= 0]).toEqual([
            lines,
            ms,
            true,
          ]);
        }
      }
    }
  });

  test("without its last line is active, and an empty text is no file", () => {
    expect(parseRunFile(begun, false)).toMatchObject({ terms, report: undefined });
    expect(parseRunFile([...begun, "ended 12.50 0"], false)?.report).toBeUndefined();
    expect(parseRunFile(["claimed"], false)).toMatchObject({ isOnlyClaimed: true });
    expect(parseRunFile([], false)).toBeUndefined();
    expect(parseRunFile(["what", "is this"], false)).toBeUndefined();
  });

  test("has the beginnings and lengths of outputs", () => {
    const lines = ["stdout 30 61 62 0a", "stderr 2 ff 00", ...begun, "ended 12.50 0", "end"];
    const file = parseRunFile(lines, false);
    expect(file?.bytes).toBe(32);
    expect(Buffer.from(file?.heads.stdout ?? []).toString()).toBe("ab\n");
    expect([...(file?.heads.stderr ?? [])]).toEqual([255, 0]);
  });
});

test("a truncated survey is rejected", () => {
  const text = "run 1.0.1\nterms 1 2 - sh\nend\nrun 2.0.1\nclaimed\nall\n";
  expect(parseSurvey(text)).toEqual(
    new Map([
      ["1.0.1", ["terms 1 2 - sh", "end"]],
      ["2.0.1", ["claimed"]],
    ]),
  );
  for (const cut of [text.slice(0, -1), text.slice(0, 20), ""]) {
    expect(parseSurvey(cut)).toBeUndefined();
  }
});
