import type { Command } from "commander";
import type { BusbarClient } from "../../client/client.ts";
import { AppError } from "../../lib/errors.ts";
import { addIfRevision, jobOrTaskId } from "../flags.ts";
import { toJobRow } from "../json.ts";
import type { JobRow } from "../rows.ts";
import type { Answer, Session } from "../session.ts";

interface Refused {
  readonly id: string;
  readonly code: string;
  readonly message: string;
}

/** A change of each job, or task, that a command names. */
export interface EachChange {
  readonly change: (client: BusbarClient, id: string) => Promise<Parameters<typeof toJobRow>[0]>;
  /** The result of the change, as a line. */
  readonly describe: (id: string, job: JobRow) => string;
}

export const inTurn =
  (read: (text: string) => string) =>
  (text: string, sofar: readonly string[] | undefined): readonly string[] => [
    ...(sofar ?? []),
    read(text),
  ];

/** The jobs or tasks to change, and under which condition. */
export const addIds = (command: Command, isOptional = false): Command =>
  addIfRevision(command).argument(
    isOptional ? "[id...]" : "<id...>",
    "jobs (17) or tasks (17.3)",
    inTurn(jobOrTaskId("<id>")),
  );

export async function changeEach(
  session: Session,
  ids: readonly string[],
  { change, describe }: EachChange,
): Promise<Answer> {
  const client = await session.client();
  const jobs: JobRow[] = [];
  const lines: string[] = [];
  const errors = await forEachId(session, ids, async (id) => {
    const job = toJobRow(await change(client, id));
    jobs.push(job);
    lines.push(describe(id, job));
  });
  return {
    json: errors.length === 0 ? { jobs } : { jobs, errors },
    text: () => lines.join("\n"),
    exitCode: errors.length === 0 ? 0 : 1,
  };
}

/** The rejections of several; one does not prevent the others. The rejection of a single one is thrown. */
export async function forEachId(
  session: Session,
  ids: readonly string[],
  act: (id: string) => Promise<void>,
): Promise<readonly Refused[]> {
  const errors: Refused[] = [];
  for (const id of ids) {
    try {
      await act(id);
    } catch (cause) {
      const error = inFlags(cause);
      if (ids.length === 1 || !(error instanceof AppError)) throw error;
      if (error.code === "unavailable") throw error;
      errors.push({ id, code: error.code, message: error.message });
      if (session.format === "table") await session.note(error.message);
    }
  }
  return errors;
}

/** Flags by the field that they set, where the server alone knows the rule. */
const FLAGS = new Map([
  ["group", "--group"],
  ["ifRevision", "--if-revision"],
]);

/** A rejection in the words of the flags. */
function inFlags(error: unknown): unknown {
  const flag = error instanceof AppError ? FLAGS.get(error.field ?? "") : undefined;
  return flag !== undefined && error instanceof AppError ? error.at(flag) : error;
}

/** "task 17.3 (train)", "job 17 (train)". */
export const nameOf = (id: string, { spec }: JobRow): string =>
  `${id.includes(".") ? "task" : "job"} ${id} (${spec.name})`;
