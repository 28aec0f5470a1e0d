import { destination, pino } from "pino";
import { clean } from "../cli/render/page.ts";
import { describeChain } from "../lib/errors.ts";
import type { Logger } from "../ports/logger.ts";

export interface LoggerOptions {
  readonly level: "debug" | "info" | "warn" | "error";
  /** One line of text for people, or one JSON value per line for collectors. */
  readonly pretty: boolean;
  /** The part of Busbar that writes the line. */
  readonly part: string;
}

const STDERR = 2;

/** Writes to standard error synchronously: the last line before a crash is the one that matters. */
export function createLogger({ level, pretty, part }: LoggerOptions): Logger {
  const stderr = destination({ fd: STDERR, sync: true });
  const target = pretty ? { write: (line: string) => stderr.write(formatLogLine(line)) } : stderr;
  return pino(
    {
      level,
      base: { part },
      serializers: { error: describeChain },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    target,
  );
}

/** `12:00:05 warn  agent: lost the connection server=127.0.0.1:7071` */
export function formatLogLine(line: string): string {
  let record: Record<string, unknown>;
  try {
    record = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return line;
  }
  const { time, level, part, msg, ...fields } = record;
  const rest = Object.entries(fields).map(([key, value]) => ` ${key}=${fieldText(value)}`);
  const head = `${String(time).slice(11, 19)} ${String(level).padEnd(5)} ${String(part)}`;
  return `${clean(`${head}: ${String(msg)}${rest.join("")}`)}\n`;
}

const fieldText = (value: unknown): string =>
  typeof value === "string" && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
