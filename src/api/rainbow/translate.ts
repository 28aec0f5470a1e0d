import { visible } from "../../core/model/texts.ts";
import type { Plain } from "../../core/jobspec/model.ts";
import { joinShell, splitShell } from "../../lib/shell.ts";
import { limits } from "../../limits.ts";
import type { SubmissionInput } from "../../server/operations/operations.ts";
import type { CommandRequest } from "./wire/decode.ts";
import type { ReadJobspec } from "./jobspecs/jobspecs.ts";

/** One job, which goes to a cluster as a whole: its original text. */
export const toSubmission = (
  { jobspec, request }: Pick<ReadJobspec, "jobspec" | "request">,
  sent: { readonly name: string; readonly text: string; readonly cluster?: string },
): SubmissionInput => ({
  spec: {
    name: nameOf(sent.name) ?? nameOf(jobspec.name ?? ""),
    jobspec: sent.text,
    ...(request === undefined ? {} : { request }),
    placement: {
      kind: "pulling",
      ...(sent.cluster === undefined ? {} : { cluster: sent.cluster }),
    },
  },
});

/** Names are for people: a name that is too long is no reason to reject a job. */
const nameOf = (name: string): string | undefined => {
  const text = visible(name.replaceAll("\0", ""), limits.nameLengthMax);
  return text === "" ? undefined : text;
};

/** The key in `attributes.user` under which a jobspec holds the original request of the first generation. */
const SENT = "rainbow";

/** The request that clients of the first generation send, and read. */
export interface CommandLine {
  readonly command: string;
  readonly nodes: number;
  readonly tasks: number;
}

/** The jobspec that later clients make from a command, with the original request in it. */
export function toJobspecText({ name, command, nodes, tasks }: CommandRequest): string {
  const core = tasks < 1 ? {} : { with: [{ type: "core", count: tasks }] };
  const node = { type: "node", count: Math.max(1, nodes), ...core };
  return JSON.stringify({
    version: 1,
    ...(name === "" ? {} : { name }),
    attributes: { user: { [SENT]: { command, nodes, tasks } } },
    resources: { "task-resources": { type: "rack", replicas: 1, with: [node] } },
    // The shell handles an unfinished quotation.
    tasks: [{ command: wordsOf(command), resources: "task-resources" }],
  });
}

function wordsOf(command: string): readonly string[] {
  const words = splitShell(command) ?? [];
  return words.length === 0 ? ["/bin/sh", "-c", command] : words;
}

/** The original request of a jobspec that was made from one of the first generation. */
export function sentWith({ attributes }: ReadJobspec["jobspec"]): CommandLine | undefined {
  const { command, nodes, tasks } = within(within(attributes.extras, "user"), SENT);
  if (typeof command !== "string") return undefined;
  return { command, nodes: Number(nodes ?? 0), tasks: Number(tasks ?? 0) };
}

function within(
  map: Readonly<Record<string, Plain>>,
  key: string,
): Readonly<Record<string, Plain>> {
  const value = map[key];
  const isMap = typeof value === "object" && value !== null && !Array.isArray(value);
  return isMap ? (value as Readonly<Record<string, Plain>>) : {};
}

/** An equivalent line, for a job that is one plain command; otherwise nothing. */
export const lineOf = (argv: readonly string[] | undefined): string =>
  argv === undefined ? "" : joinShell(argv);
