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
 * A flag that takes one value and is given twice is wrong usage: the meant one is unknown. A
 * global flag may stand before and after the command's name, where the latter counts.
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
        throw invalid(flag, `takes one value, and is given "${first}" and "${text}"`);
      }
      first = text;
    });
  }
}
