import { unprocessable } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";

/** The ways in which a client can be attached to a task. */
export const ATTACH_KINDS = ["stdin", "terminal"] as const;
export type AttachKind = (typeof ATTACH_KINDS)[number];

export const ATTACH_RULES = {
  attach: { enum: ATTACH_KINDS },
  hangUpMs: { minimum: limits.hangUpMsMin, maximum: limits.hangUpMsMax },
} as const;

/** A client sends its input once, for one attempt at one task that is a process of a node. */
const NOT_ATTACHED = {
  array: "a client attaches to one task; submit one job for each",
  entries: "a client attaches to one task; submit one job for each",
  energy: "a share may run again, and the input cannot be repeated",
  service: "the input cannot be repeated when the task is started again",
  jobspec: "give a command or a script",
  workload: "give a command or a script",
  image: "input for containers is not supported yet",
  containers: "input for containers is not supported yet",
} as const;

const NO_TERMINAL = {
  stdoutFile: "a terminal prints all output to the client",
  stderrFile: "a terminal prints all output to the client",
} as const;

type Excluded = keyof typeof NOT_ATTACHED | keyof typeof NO_TERMINAL;

/** Throws if the spec has a field that excludes a client. */
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
      throw unprocessable(field, `cannot be combined with attach: ${why}`);
  }
  if ((input.retries?.max ?? 0) > 0) {
    throw unprocessable(
      "retries.max",
      "cannot be combined with attach: the input cannot be repeated",
    );
  }
  if (input.placement?.kind === "pulling") {
    throw unprocessable(
      "placement.kind",
      "cannot be combined with attach: pull clusters cannot pass on input",
    );
  }
}
