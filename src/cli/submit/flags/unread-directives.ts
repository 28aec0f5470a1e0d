import { limits } from "../../../limits.ts";
import type { Session } from "../../session.ts";
import { resolveHere } from "./directory-flags.ts";

const IS_SCRIPT = /\.(?:sh|bash|sbatch|slurm|job|batch)$/;
const HAS_DIRECTIVES = /^#(?:SBATCH|BUSBAR)\s/m;

/**
 * `busbar submit ./job.sh` runs the file as a program: unlike sbatch it reads no directives, and the job would quietly ask for nothing that
 * they name.
 */
export async function tellUnreadDirectives(
  [program = ""]: readonly string[],
  { context, note }: Pick<Session, "context" | "note">,
): Promise<void> {
  if (!IS_SCRIPT.test(program) || !context.hasFile(resolveHere(context, program))) return;
  const text = await context.readInput(program, limits.workBytesMax).then(String, () => "");
  const [line] = HAS_DIRECTIVES.exec(text) ?? [];
  if (line === undefined) return;
  await note(
    `warning: the ${line.trim()} lines of ${program} are not read; --script ${program} reads them`,
  );
}
