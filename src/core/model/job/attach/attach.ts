import { unprocessable } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";

/** What a client can be to a task. */
export const ATTACH_KINDS = ["stdin", "terminal"] as const;
export type AttachKind = (typeof ATTACH_KINDS)[number];

export const ATTACH_RULES = {
  attach: { enum: ATTACH_KINDS },
  hangUpMs: { minimum: limits.hangUpMsMin, maximum: limits.hangUpMsMax },
} as const;

/** The client's bytes come once, for one attempt at one task that is a process of a node. */
const NOT_ATTACHED = {
  array: "one task has its client; submit one job for each",
  entries: "one task has its client; submit one job for each",
  energy: "shares are made anew, and the input cannot be repeated",
  service: "the input cannot be repeated when the task is started again",
  jobspec: "give a command or a script",
  workload: "give a command or a script",
  image: "containers take no input yet",
  containers: "containers take no input yet",
} as const;

const NO_TERMINAL = {
  stdoutFile: "a terminal shows the output",
  stderrFile: "a terminal shows the output",
} as const;

type Excluded = keyof typeof NOT_ATTACHED | keyof typeof NO_TERMINAL;

/** Throws if something is said that does not go with a client. */
export function checkAttach(
  input: Readonly<{ [Name in Excluded]?: unknown }> & {
    readonly attach?: string | undefined;
    readonly hangUpMs?: number | undefined;
    readonly retries?: { readonly max?: number | undefined } | undefined;
    readonly placement?: { readonly kind?: string | undefined } | undefined;
  },
): void {
  const { attach } = input;
  if (attach === undefined) throw unprocessable("hangUpMs", "is for jobs with attach");
  const excluded = { ...NOT_ATTACHED, ...(attach === "terminal" ? NO_TERMINAL : {}) };
  for (const [field, why] of Object.entries(excluded)) {
    if (input[field as Excluded] !== undefined)
      throw unprocessable(field, `not with attach: ${why}`);
  }
  if ((input.retries?.max ?? 0) > 0) {
    throw unprocessable("retries.max", "not with attach: the input cannot be repeated");
  }
  if (input.placement?.kind === "pulling") {
    throw unprocessable("placement.kind", "not with attach: pull clusters take no input");
  }
}
