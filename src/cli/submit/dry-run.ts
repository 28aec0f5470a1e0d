import { toTrialRow } from "../json.ts";
import { renderTrial } from "../render/trial.ts";
import type { Answer, Session } from "../session.ts";
import { type Input, refusedInFlags } from "./submit-input.ts";

/** The outcome of jobs if they were submitted now. Changes nothing. */
export async function dryRun(session: Session, input: Input): Promise<Answer> {
  const client = await session.client();
  const { jobs, revision } = await refusedInFlags(client, input, () =>
    client.tryJobs({ ask: askOf(input) }),
  );
  const rows = jobs.map(toTrialRow);
  const isAllowed =
    input.kind === "jobspec" ? input.jobspec.allowUnsatisfiable === true : input.allowUnsatisfiable;
  const accepted = isAllowed || rows.every(({ possible }) => possible);
  return {
    json: { accepted, jobs: rows, revision: Number(revision) },
    text: (page) => rows.map((row) => renderTrial(row, isAllowed, page)).join("\n\n"),
    exitCode: accepted ? 0 : 1,
  };
}

function askOf(input: Input) {
  if (input.kind === "jobspec") return { case: "jobspec" as const, value: input.jobspec };
  return { case: "jobs" as const, value: { jobs: [...input.jobs] } };
}
