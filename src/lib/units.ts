import { invalid } from "./errors.ts";

const DURATION_UNITS_MS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const;
type DurationUnit = keyof typeof DURATION_UNITS_MS;
const DURATION_ORDER: readonly DurationUnit[] = ["d", "h", "m", "s", "ms"];

/** The form of a duration. No pattern can require that units go from large to small. */
export const DURATION_PATTERN = "^([0-9]+([.][0-9]+)?(ms|[dhms]))+$|^0$";

/**
 * A duration as people write it: "90s", "5m", "1h30m", "250ms", "1.5h", "0". A number alone is rejected, because half of the world would
 * read it as seconds and the other half as milliseconds.
 */
export function parseDurationMs(text: string, field: string): number {
  const wrong = (why: string) =>
    invalid(field, `"${shorten(text)}" ${why}; write it like 90s, 5m, 1h30m or 250ms`);
  if (text === "0") return 0;
  if (/^\d+(\.\d+)?$/.test(text)) throw wrong("has no unit");
  if (!/^(\d+(\.\d+)?(ms|[dhms]))+$/.test(text)) throw wrong("is not a duration");
  let totalMs = 0;
  let last = -1;
  for (const [, amount = "", unit = ""] of text.matchAll(/(\d+(?:\.\d+)?)(ms|[dhms])/g)) {
    const order = DURATION_ORDER.indexOf(unit as DurationUnit);
    if (order <= last) throw wrong("must go from large units to small, each once");
    last = order;
    totalMs += Number(amount) * DURATION_UNITS_MS[unit as DurationUnit];
  }
  const rounded = Math.round(totalMs);
  if (Math.abs(totalMs - rounded) > 1e-3) throw wrong("is finer than a millisecond");
  if (!Number.isSafeInteger(rounded)) throw wrong("is too long");
  return rounded;
}

/** The shortest text that `parseDurationMs` parses to the same duration. */
export function formatDuration(ms: number): string {
  if (ms === 0) return "0s";
  if (ms < 1_000) return `${ms}ms`;
  let rest = ms;
  let text = "";
  for (const unit of ["d", "h", "m"] as const) {
    const amount = Math.floor(rest / DURATION_UNITS_MS[unit]);
    if (amount > 0) text += `${amount}${unit}`;
    rest -= amount * DURATION_UNITS_MS[unit];
  }
  return rest > 0 ? `${text}${rest / 1_000}s` : text;
}

const PREFIXES = ["k", "M", "G", "T", "P"] as const;

/** The form of a size. No pattern can reject a size that is too large. */
export const SIZE_PATTERN = "^([0-9]+([.][0-9]+)?[kKmMgGtTpP](iB|B)?|[0-9]+B?)$";
const SIZE = new RegExp(SIZE_PATTERN);

/**
 * A size as people write it, read as GNU tools do: "4GiB" and "4G" are powers of 1,024, "4GB" is
 * powers of 1,000, a number alone is bytes.
 */
export function parseSizeBytes(text: string, field: string): number {
  const wrong = (why: string) =>
    invalid(field, `"${shorten(text)}" ${why}; write it like 512M, 4GiB, 1.5G, 100kB or 4096`);
  const match = /^([\d.]+)(?:([kKmMgGtTpP])(iB|B)?|B)?$/.exec(text);
  if (match !== null && /^\d+[.]\d+B?$/.test(text)) throw wrong("is not a whole number of bytes");
  if (match === null || !SIZE.test(text)) throw wrong("is not a size");
  const [, amount = "", prefix = "", suffix] = match;
  const power = PREFIXES.findIndex((known) => known.toLowerCase() === prefix.toLowerCase()) + 1;
  const bytes = Number(amount) * (suffix === "B" ? 1_000 : 1_024) ** power;
  const rounded = Math.round(bytes);
  if (!Number.isSafeInteger(rounded)) throw wrong("is too large").as("unprocessable");
  return rounded;
}

/** For people: at most one decimal, powers of 1,024 ("1.5GiB"). */
export function formatBytes(bytes: number): string {
  let amount = bytes;
  let unit = "B";
  for (const prefix of ["Ki", "Mi", "Gi", "Ti", "Pi"]) {
    // 1023.95 would round to 1024.0 of the smaller unit.
    if (amount < 1_023.95) break;
    amount /= 1_024;
    unit = `${prefix}B`;
  }
  return `${Math.round(amount * 10) / 10}${unit}`;
}

const shorten = (text: string): string => (text.length > 40 ? `${text.slice(0, 40)}…` : text);

const ENERGY_UNITS: Readonly<Record<string, number>> = {
  Ws: 1,
  J: 1,
  kWs: 1_000,
  kJ: 1_000,
  MJ: 1_000_000,
  Wh: 3_600,
  kWh: 3_600_000,
  MWh: 3_600_000_000,
};

/** Energy as people write it: "400Ws", "400J", "2Wh", "1.5kWh"; in whole watt-seconds. */
export function parseWattSeconds(text: string, field: string): number {
  const wrong = (why: string) =>
    invalid(field, `"${shorten(text)}" ${why}; write it like 400Ws, 400J, 2Wh or 1.5kWh`);
  if (/^\d+(\.\d+)?$/.test(text) && text !== "0") throw wrong("has no unit");
  const [, amount = "", unit = ""] = /^(\d+(?:\.\d+)?)([A-Za-z]*)$/.exec(text) ?? [];
  const factor = text === "0" ? 1 : ENERGY_UNITS[unit];
  if (amount === "" || factor === undefined) throw wrong("is not an energy");
  const wattSeconds = Number(amount) * factor;
  const rounded = Math.round(wattSeconds);
  if (Math.abs(wattSeconds - rounded) > 1e-6) throw wrong("is finer than a watt-second");
  if (!Number.isSafeInteger(rounded)) throw wrong("is too much");
  return rounded;
}
