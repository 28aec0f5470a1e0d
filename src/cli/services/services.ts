import type { Command } from "commander";
import { limits } from "../../limits.ts";
import { addIfRevision, type ConditionFlags, newName, wholeNumber } from "../flags.ts";
import { toInstanceRow, toServiceRow } from "../json.ts";
import { inTurn } from "../changes/change-each.ts";
import { collect } from "../pages.ts";
import { invalid } from "../../lib/errors.ts";
import { listed, type RowsAnswer, shownRows } from "../formats/answers.ts";
import { addWatchFlag, COUNTS_REFRESH_MS, watchList, type WatchFlag } from "../live/watch-list.ts";
import { renderInstances, renderService, SERVICES } from "./render-services.ts";
import type { Answer, Session, Shell } from "../session.ts";
import { declareApply } from "./apply.ts";
import { oneService } from "./one-service.ts";

const HELP = `
A service keeps a number of instances of one command running: each is a job that is started again
when it ends. Logs, explain and cancel take the job of an instance.

Examples:
  busbar services apply web --replicas 3 -- ./serve --port 8080
  busbar services web
  busbar scale web 5
  busbar services apply web -- ./serve-2 --port 8080
  busbar services rollback web
  busbar services remove web`;

export function declareServices(command: Command, shell: Shell): void {
  addWatchFlag(command)
    .usage("[options] [name] [command]")
    .argument("[name]", "show this one, with its instances")
    .addHelpText("after", HELP)
    .action((name: string | undefined, { watch }: WatchFlag) =>
      shell.list(command, async (session) => {
        if (watch === true && name !== undefined) {
          throw invalid("--watch", "is for the list; leave out the name");
        }
        if (name !== undefined) return showService(session, name);
        if (watch === true) return watchServices(session);
        return listed(SERVICES, (await readServices(session)).rows);
      }),
    );
  declareApply(command, shell);
  declareRollback(command, shell);
  declareInstances(command, shell);
  declareRemove(command, shell);
}

export function declareScale(command: Command, shell: Shell): void {
  const most = { min: 0, max: limits.replicasMax };
  addIfRevision(command)
    .argument("<service>", "the service")
    .argument("<n>", "number of instances", wholeNumber("<n>", most))
    .addHelpText("after", "\nExamples:\n  busbar scale web 5\n  busbar scale web 0")
    .action((name: string, replicas: number, { ifRevision }: ConditionFlags) =>
      shell.run(command, async (session) => {
        const client = await session.client();
        return oneService(await client.scaleService({ name, replicas, ifRevision }));
      }),
    );
}

interface RollbackFlags extends ConditionFlags {
  readonly to?: number;
}

function declareRollback(command: Command, shell: Shell): void {
  const rollback = command.command("rollback").description("Roll back to the previous template.");
  addIfRevision(rollback)
    .argument("<name>", "the service")
    .option(
      "--to <generation>",
      "to this generation (default: the previous one)",
      wholeNumber("--to", { min: 1, max: 2 ** 31 }),
    )
    .action((name: string, { to: generation, ifRevision }: RollbackFlags) =>
      shell.run(rollback, async (session) => {
        const client = await session.client();
        return oneService(await client.rollbackService({ name, generation, ifRevision }));
      }),
    );
}

interface RemoveFlags extends ConditionFlags {
  readonly reason?: string;
}

function declareRemove(command: Command, shell: Shell): void {
  const remove = command
    .command("remove")
    .description("End all instances of a service and remove it; or end some instances by name.");
  addIfRevision(remove)
    .argument("<name>", "the service")
    .argument("[instances...]", "only these instances; counted ones are replaced")
    .option("--reason <text>", "say why, shown beside the jobs")
    .action((name: string, names: readonly string[], flags: RemoveFlags) =>
      shell.run(remove, async (session) => {
        const { reason, ifRevision } = flags;
        if (names.length > 0 && ifRevision !== undefined) {
          throw invalid("--if-revision", "is for the whole service; leave out the instances");
        }
        const client = await session.client();
        if (names.length === 0) {
          return oneService(await client.removeService({ name, reason, ifRevision }));
        }
        const request = { service: name, names: [...names], reason };
        return someInstances((await client.removeInstances(request)).instances);
      }),
    );
}

function declareInstances(command: Command, shell: Shell): void {
  const add = command.command("add").description("Add named instances, beside the counted ones.");
  add
    .argument("<name>", "the service")
    .argument("<instances...>", "their names", inTurn(newName("<instances>", limits.nameLengthMax)))
    .action((service: string, names: readonly string[]) =>
      shell.run(add, async (session) => {
        const client = await session.client();
        return someInstances((await client.addInstances({ service, names: [...names] })).instances);
      }),
    );
}

function someInstances(instances: readonly Parameters<typeof toInstanceRow>[0][]): Answer {
  const rows = instances.map(toInstanceRow);
  return {
    json: { instances: rows },
    text: (page) => (rows.length === 0 ? "no instances" : renderInstances(rows, page)),
  };
}

async function readServices(session: Session) {
  const client = await session.client();
  const { items: rows, revision } = await collect(limits.servicesMax, async (pageToken) => {
    const page = await client.listServices({ pageToken, pageSize: limits.pageSizeMax });
    return { ...page, items: page.services.map(toServiceRow) };
  });
  return { rows, revision };
}

/** Events of a service lack the fields that follow from its instances. */
const watchServices = (session: Session): Promise<number> =>
  watchList(session, {
    kind: SERVICES,
    following: { services: true },
    list: () => readServices(session),
    revisionOf: (service) => service.revision,
    choose: (services) => services,
    refreshMs: COUNTS_REFRESH_MS,
  });

async function showService(session: Session, name: string): Promise<RowsAnswer> {
  const client = await session.client();
  const service = toServiceRow(await client.getService({ name }));
  const { items: instances } = await collect(limits.instancesMax, async (pageToken) => {
    const request = { service: name, pageToken, pageSize: limits.pageSizeMax };
    const page = await client.listInstances(request);
    return { items: page.instances.map(toInstanceRow), nextPageToken: page.nextPageToken };
  });
  return {
    json: { ...service, instanceList: instances },
    text: (page) => renderService(service, instances, page),
    rows: shownRows(SERVICES, [service]),
  };
}
