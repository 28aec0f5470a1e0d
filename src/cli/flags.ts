import type { Command } from "commander";
import { isReservedVariable, isVariableName } from "../core/model/job/variable-names.ts";
import { checkName, TASK_ID_RULE } from "../core/model/ids.ts";
import { isInBytes } from "../core/model/resources.ts";
import { parseAddress } from "../lib/address.ts";
import { invalid } from "../lib/errors.ts";
import { nearest } from "../lib/nearest.ts";
import { formatDuration, parseDurationMs, parseSizeBytes } from "../lib/units.ts";
import { limits } from "../limits.ts";
import { collecting } from "./single-flags.ts";

/**
 * Readers of flag values. Each throws an error that names the flag and a valid value.
 * Those of repeatable flags receive the values collected so far.
 */
export const wholeNumber =
  (flag: string, { min, max }: { readonly min: number; readonly max: number }) =>
  (text: string): number => {
    const value = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw invalid(flag, `"${text}" is not a whole number from ${min} to ${max}`);
  };

/** A positive decimal amount. */
export const positiveNumber =
  (flag: string) =>
  (text: string): number => {
    const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
    if (value > 0 && value <= Number.MAX_SAFE_INTEGER) return value;
    throw invalid(flag, `"${text}" is not a number above 0`);
  };

export const size =
  (flag: string) =>
  (text: string): number =>
    parseSizeBytes(text, flag);

/** Bytes per second. */
export const bandwidth =
  (flag: string) =>
  (text: string): number => {
    const bytes = parseSizeBytes(text, flag);
    if (bytes >= limits.bandwidthBytesMin) return bytes;
    throw invalid(flag, `"${text}" is less than 1KiB a second`);
  };

export const duration =
  (flag: string) =>
  (text: string): number => {
    const ms = parseDurationMs(text, flag);
    if (ms <= limits.durationMsMax) return ms;
    throw invalid(flag, `"${text}" is longer than 366 days`);
  };

/** How long an agent may be disconnected before its tasks count as lost. */
export const awayTime =
  (flag: string) =>
  (text: string): number => {
    const ms = duration(flag)(text);
    if (ms >= limits.leaseMsMin) return ms;
    const least = formatDuration(limits.leaseMsMin);
    throw invalid(flag, `"${text}" is too short; an agent needs ${least} to reconnect`);
  };

export const oneOf =
  <Choice extends string>(flag: string, choices: readonly Choice[]) =>
  (text: string): Choice => {
    const found = choices.find((choice) => choice === text);
    if (found !== undefined) return found;
    const meant = nearest(text, choices);
    const hint = meant === undefined ? "" : ` (did you mean ${meant}?)`;
    throw invalid(flag, `"${text}" is not one of ${choices.join(", ")}${hint}`);
  };

/** "pending,running" or the flag several times. */
export const anyOf = <Choice extends string>(flag: string, choices: readonly Choice[]) =>
  collecting((text: string, sofar: readonly Choice[] = []): readonly Choice[] => [
    ...sofar,
    ...text.split(",").map(oneOf(flag, choices)),
  ]);

export const notEmpty =
  (flag: string) =>
  (text: string): string => {
    if (text.trim() !== "") return text;
    throw invalid(flag, "is empty");
  };

type Pairs<Value> = Readonly<Record<string, Value>>;

export const keyValue = (flag: string) =>
  collecting((text: string, sofar: Pairs<string> = {}): Pairs<string> => {
    const at = text.indexOf("=");
    if (at > 0) return { ...sofar, [text.slice(0, at)]: text.slice(at + 1) };
    throw invalid(flag, `"${text}" is not KEY=VALUE`);
  });

/** "K=V", or "K" for its value in the caller's environment. */
export const envVariable = (flag: string, env: Readonly<Record<string, string | undefined>>) =>
  collecting((text: string, sofar: Pairs<string> = {}): Pairs<string> => {
    const name = text.split("=", 1)[0] ?? "";
    if (isReservedVariable(name))
      throw invalid(flag, `${name}: names that begin with BUSBAR_ are reserved`);
    if (!isVariableName(name)) throw invalid(flag, `"${name}" is not a variable's name`);
    if (text.includes("=")) return keyValue(flag)(text, sofar);
    const value = env[text];
    if (value !== undefined) return { ...sofar, [text]: value };
    throw invalid(flag, `${text} is not set here; write ${text}=value`);
  });

/** "fpga=2"; memory and disk may have a unit, as in "memory=4GiB". */
export const resource = (flag: string) =>
  collecting((text: string, sofar: Pairs<number> = {}): Pairs<number> => {
    const [[name, value] = ["", ""]] = Object.entries(keyValue(flag)(text));
    return { ...sofar, [name]: parseAmount(name, value, flag) };
  });

export const parseAmount = (name: string, text: string, field: string): number =>
  isInBytes(name) ? parseSizeBytes(text, field) : positiveNumber(field)(text);

/** "0-99", "1-9:2", "0-3,8": only the form; the server knows the limits. */
export const arraySpec =
  (flag: string) =>
  (text: string): string => {
    if (!/^\d+(-\d+(:[1-9]\d*)?)?(,\d+(-\d+(:[1-9]\d*)?)?)*(%[1-9]\d*)?$/.test(text)) {
      const shapes = "0-99, 1-9:2, 0-3,8,10-12 or 0-99%5 (five at once)";
      throw invalid(flag, `"${text}" is not an array; write it like ${shapes}`);
    }
    for (const [, first, last] of text.matchAll(/(\d+)-(\d+)/g)) {
      if (Number(last) >= Number(first)) continue;
      throw invalid(flag, `"${first}-${last}" ends before it begins; write ${last}-${first}`);
    }
    return text;
  };

const TASK_ID = new RegExp(TASK_ID_RULE.pattern);

/** "17", or "17.3" if one task of an array may be meant. */
export const jobOrTaskId =
  (argument: string) =>
  (text: string): string => {
    if (TASK_ID.test(text)) return text;
    throw invalid(argument, `"${text}" is not an id like 17 or 17.3`);
  };

/** The name of something that is created. */
export const newName =
  (argument: string, lengthMax: number) =>
  (text: string): string =>
    checkName(text, argument, lengthMax);

/** An address with a port; the original text, because messages repeat it. */
export const address =
  (flag: string) =>
  (text: string): string => {
    parseAddress(text, flag);
    return text;
  };

const revisionOf = wholeNumber("--if-revision", { min: 0, max: Number.MAX_SAFE_INTEGER });

/** A change that the server rejects when another client has changed the row meanwhile. */
export const addIfRevision = (command: Command): Command =>
  command.option("--if-revision <n>", "change it only if it has this revision", (text) =>
    BigInt(revisionOf(text)),
  );

export interface ConditionFlags {
  readonly ifRevision?: bigint;
}
