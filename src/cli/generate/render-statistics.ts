import { formatDuration } from "../../lib/units.ts";
import type { Spread, Statistics } from "./statistics.ts";
import { countsText } from "../render/jobs.ts";
import type { TerminalPage } from "../render/page.ts";
import { renderFields } from "../render/table.ts";

const BARS = "▁▂▃▄▅▆▇█";

/** The results of a generated load, with a plot of the ended jobs over time. */
export function renderStatistics(statistics: Statistics, page: TerminalPage): string {
  const { jobs, states, seconds, ends } = statistics;
  const fields = renderFields(
    [
      ["Jobs", `${jobs}: ${countsText(states)}`],
      ["Energy", `${statistics.wattSeconds} Ws done`],
      ["Time", `${seconds} s`],
      ["Submitted", `${statistics.submittedPerSecond}/s`],
      ["Ended", `${statistics.endedPerSecond}/s`],
      ["Wait", spreadText(statistics.waitMs)],
      ["Took", spreadText(statistics.tookMs)],
    ],
    page,
  );
  return jobs === 0
    ? fields
    : `${fields}\n\n${plot(ends)}  ends over ${seconds} s, at most ${Math.max(...ends)}`;
}

const spreadText = (spread: Spread | undefined): string =>
  spread === undefined
    ? ""
    : `p50 ${time(spread.p50)}, p99 ${time(spread.p99)}, at most ${time(spread.max)}`;

const time = (ms: number): string =>
  ms < 1_000 ? `${Math.round(ms)}ms` : formatDuration(Math.round(ms));

/** One character for each number, the tallest for the largest; a blank for none. */
export function plot(values: readonly number[]): string {
  const most = Math.max(1, ...values);
  return values
    .map((value) => (value === 0 ? " " : BARS[Math.ceil((value * BARS.length) / most) - 1]))
    .join("");
}
