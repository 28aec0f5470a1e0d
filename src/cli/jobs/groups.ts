import type { Command } from "commander";
import { AppError, invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { addIfRevision, type ConditionFlags, positiveNumber, wholeNumber } from "../flags.ts";
import { toGroupRow } from "../json.ts";
import { listed } from "../formats/answers.ts";
import { addWatchFlag, COUNTS_REFRESH_MS, watchList, type WatchFlag } from "../live/watch-list.ts";
import { GROUPS, renderGroups } from "../render/groups.ts";
import type { Answer, Session, Shell } from "../session.ts";
import { refuseUnknownSubcommand } from "../suggest/unknown-subcommand.ts";

interface SetFlags extends ConditionFlags {
  readonly weight?: number;
  readonly owner?: string;
  readonly runningTasksMax?: number;
  readonly queuedTasksMax?: number;
}

export function declareGroups(command: Command, shell: Shell): void {
  addWatchFlag(command)
    .usage("[options] [command]")
    .addHelpText(
      "after",
      `
Examples:
  busbar groups --watch
  busbar groups set nightly --weight 0.5 --running-tasks-max 100
  busbar groups pause nightly
  busbar groups remove nightly`,
    )
    .action(({ watch }: WatchFlag) => {
      refuseUnknownSubcommand(command);
      return shell.list(command, async (session) =>
        watch === true ? watchGroups(session) : listed(GROUPS, (await readGroups(session)).rows),
      );
    });
  declareSet(command, shell);
  declarePause(command, shell, true);
  declarePause(command, shell, false);
  declareRemove(command, shell);
  command.allowExcessArguments(); // last: subcommands, which have none to misspell, would inherit it
}

function declareSet(command: Command, shell: Shell): void {
  const most = { min: 0, max: limits.queuedTasksMax };
  const set = command
    .command("set")
    .description("Create a group, or change the given settings of it.");
  addIfRevision(set)
    .argument("<name>", "the group")
    .option(
      "--weight <n>",
      "share of the resources relative to other groups (default: 1)",
      positiveNumber("--weight"),
    )
    .option("--owner <name>", "the owner of the group")
    .option(
      "--running-tasks-max <n>",
      "run at most this many tasks at once; 0: no limit",
      wholeNumber("--running-tasks-max", most),
    )
    .option(
      "--queued-tasks-max <n>",
      "queue at most this many tasks; 0: no limit",
      wholeNumber("--queued-tasks-max", most),
    )
    .action((name: string, flags: SetFlags) =>
      shell.run(set, (session) => setGroup(session, name, flags)),
    );
}

function declarePause(command: Command, shell: Shell, paused: boolean): void {
  const pause = paused
    ? command
        .command("pause")
        .description("Place no more tasks of a group; running tasks continue.")
    : command.command("resume").description("Place tasks of a paused group again.");
  addIfRevision(pause)
    .argument("<name>", "the group")
    .action((name: string, { ifRevision }: ConditionFlags) =>
      shell.run(pause, async (session) => {
        const client = await session.client();
        const { groups } = await client.listGroups({});
        if (!groups.some((group) => group.name === name)) {
          throw new AppError("not_found", `there is no group ${name}`);
        }
        const row = toGroupRow(await client.putGroup({ name, paused, ifRevision }));
        const text = `group ${name} is ${paused ? "paused" : "no longer paused"}`;
        return { json: row, text: () => text };
      }),
    );
}

function declareRemove(command: Command, shell: Shell): void {
  const remove = command.command("remove").description("Remove a group that has no jobs.");
  addIfRevision(remove)
    .argument("<name>", "the group")
    .action((name: string, { ifRevision }: ConditionFlags) =>
      shell.run(remove, async (session) => {
        await (await session.client()).removeGroup({ name, ifRevision });
        return { json: { removed: name }, text: () => `group ${name} removed` };
      }),
    );
}

async function setGroup(session: Session, name: string, flags: SetFlags): Promise<Answer> {
  const { weight, owner, runningTasksMax, queuedTasksMax, ifRevision } = flags;
  if (name.trim() === "") throw invalid("<name>", "is empty");
  const client = await session.client();
  const row = toGroupRow(
    await client.putGroup({
      name,
      ...(weight === undefined ? {} : { weight }),
      ...(owner === undefined ? {} : { owner }),
      ...(runningTasksMax === undefined ? {} : { runningTasksMax: BigInt(runningTasksMax) }),
      ...(queuedTasksMax === undefined ? {} : { queuedTasksMax: BigInt(queuedTasksMax) }),
      ifRevision,
    }),
  );
  return { json: row, text: (page) => renderGroups([row], page) };
}

async function readGroups(session: Session) {
  const { groups, revision } = await (await session.client()).listGroups({});
  return { rows: groups.map(toGroupRow), revision };
}

/** Changes of their tasks cause no event of the group. */
const watchGroups = (session: Session): Promise<number> =>
  watchList(session, {
    kind: GROUPS,
    following: { groups: true },
    list: () => readGroups(session),
    revisionOf: (group) => group.revision,
    choose: (groups) => groups,
    refreshMs: COUNTS_REFRESH_MS,
  });
