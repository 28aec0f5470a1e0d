import { invalid } from "../lib/errors.ts";
import { isCalendarDay } from "./calendar-day.ts";
import { DURATION_PATTERN, parseDurationMs } from "../lib/units.ts";

const AGE = new RegExp(DURATION_PATTERN);
const CLOCK = /^([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/;
const DATE = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$/;

/** A time, in milliseconds since 1970: "2h" ago, "9:00" today or yesterday, "2026-11-17T16:30". */
export const pastTime =
  (flag: string, nowMs: () => number) =>
  (text: string): number => {
    if (AGE.test(text)) return Math.max(0, Math.round(nowMs() - parseDurationMs(text, flag)));
    const [, hour, minute, second = "0"] = CLOCK.exec(text) ?? [];
    if (hour !== undefined && minute !== undefined) {
      const at = new Date(nowMs());
      at.setHours(Number(hour), Number(minute), Number(second), 0);
      if (at.getTime() > nowMs()) at.setDate(at.getDate() - 1);
      return at.getTime();
    }
    const isDate = DATE.test(text) && isCalendarDay(text);
    const atMs = isDate ? Date.parse(text.includes("T") ? text : `${text}T00:00`) : NaN;
    if (Number.isFinite(atMs) && atMs >= 0) return atMs;
    throw invalid(flag, `"${text}" is not a time; write it like 2h, 9:00 or 2026-11-17T16:30`);
  };
