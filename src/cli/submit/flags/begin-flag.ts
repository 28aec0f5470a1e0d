import { invalid } from "../../../lib/errors.ts";
import { isCalendarDay } from "../../calendar-day.ts";
import { DURATION_PATTERN, parseDurationMs } from "../../../lib/units.ts";

const DELAY = new RegExp(DURATION_PATTERN);
/** As sbatch takes it: "now", "now+60" (seconds), "now+2weeks". */
const FROM_NOW = /^now(?:\+(\d{1,9})(?:(second|minute|hour|day|week)s?)?)?$/;
const UNIT_MS: Readonly<Record<string, number>> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 24 * 3_600_000,
  week: 7 * 24 * 3_600_000,
};
const CLOCK = /^([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/;
const DATE = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2})?)?$/;

/** The form of a time in a file of jobs. */
export const BEGIN_PATTERN =
  "^(now)?[+]?([0-9]+([.][0-9]+)?(ms|[dhms]))+$|^now([+][0-9]{1,9}((second|minute|hour|day|week)s?)?)?$|^[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?$|^[0-9]{4}-[0-9]{2}-[0-9]{2}(T.*)?$";

/** A time, in milliseconds since 1970: "10m" or "now+10m" from now on, "16:30" next, "2026-11-17T16:30". */
export const beginTime =
  (flag: string, nowMs: () => number) =>
  (text: string): number => {
    const delay = text.replace(/^(now)?[+]/, "");
    if (DELAY.test(delay)) return nowMs() + parseDurationMs(delay, flag);
    const fromNow = FROM_NOW.exec(text);
    if (fromNow !== null) {
      const [, count = 0, unit = "second"] = fromNow;
      return nowMs() + Number(count) * (UNIT_MS[unit] ?? 0);
    }
    const [, hour, minute, second = "0"] = CLOCK.exec(text) ?? [];
    if (hour !== undefined && minute !== undefined) {
      const at = new Date(nowMs());
      at.setHours(Number(hour), Number(minute), Number(second), 0);
      if (at.getTime() <= nowMs()) at.setDate(at.getDate() + 1);
      return at.getTime();
    }
    const isDate = DATE.test(text) && isCalendarDay(text);
    const atMs = isDate ? Date.parse(text.includes("T") ? text : `${text}T00:00`) : NaN;
    if (Number.isFinite(atMs)) return atMs;
    throw invalid(flag, `"${text}" is not a time; write it like 10m, 16:30 or 2026-11-17T16:30`);
  };
