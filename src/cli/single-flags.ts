import type { Command, Option } from "commander";
import { invalid } from "../lib/errors.ts";

const collectors = new WeakSet<object>();

/** Marks the reader of a flag that may be given several times. */
export function collecting<Read extends (text: string, ...sofar: never[]) => unknown>(
  read: Read,
): Read {
  collectors.add(read);
  return read;
}

export const isRepeatable = ({ variadic, parseArg }: Option): boolean =>
  variadic || (parseArg !== undefined && collectors.has(parseArg));

/**
 * A flag with one value that is given twice is wrong usage: it is unclear which one is meant. A global flag may be before and after the
 * command's name; the latter counts.
 */
export function refuseRepeatedFlags(command: Command): void {
  for (const option of command.options) {
    const takesValue = option.required || option.optional;
    if (!takesValue || isRepeatable(option)) continue;
    let first: string | undefined;
    command.on(`option:${option.name()}`, (value: string | null) => {
      const text = value ?? "";
      if (first !== undefined) {
        const flag = option.long ?? option.flags;
        throw invalid(flag, `takes one value, not both "${first}" and "${text}"`);
      }
      first = text;
    });
  }
}
