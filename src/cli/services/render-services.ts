import { formatDuration } from "../../lib/units.ts";
import { joinShell } from "../../lib/shell.ts";
import type { InstanceRow, ServiceRow } from "../rows.ts";
import { type TerminalPage, type Style } from "../render/page.ts";
import { firstLine, workText } from "../render/jobs.ts";
import { renderFields, renderTable, type RowKind } from "../render/table.ts";
import { ago, moment, momentColumn, resources, stateStyle } from "../render/values.ts";

const rolloutStyle = (state: string): Style | undefined =>
  state === "stopped" ? "red" : state === "done" ? "green" : "yellow";

export const SERVICES: RowKind<ServiceRow> = {
  plural: "services",
  name: ({ name }) => name,
  columns: ({ nowMs }) => [
    { title: "NAME", value: (row) => row.name },
    { title: "WANTED", align: "right", value: wanted },
    { title: "RUNNING", align: "right", value: (row) => String(row.running ?? "") },
    { title: "GENERATION", align: "right", value: (row) => String(row.generation) },
    { title: "ROLLOUT", value: rollout, style: (row) => rolloutStyle(row.state) },
    {
      ...momentColumn<ServiceRow>("AGE", (row) => row.createdAtMs, nowMs),
      align: "right",
      value: (row) => age(row, nowMs),
    },
    { title: "REASON", value: (row) => row.reason ?? ended(row) },
    { title: "GROUP", isWide: true, value: ({ template }) => template?.group ?? "" },
    { title: "NEEDS", isWide: true, value: ({ template }) => resources(template?.resources ?? {}) },
    { title: "IMAGE", isWide: true, value: ({ template }) => template?.image ?? "" },
    { title: "COMMAND", isWide: true, value: ({ template = {} }) => workText(template) },
    { title: "CHANGED BY", isWide: true, value: (row) => row.changedBy },
  ],
};

export const renderServices = (services: readonly ServiceRow[], page: TerminalPage): string =>
  renderTable(SERVICES.columns(page), services, page);

/** "3", or "3+2" with instances that callers named. */
function wanted({ replicas, instances = replicas, state }: ServiceRow): string {
  if (state === "removing") return "0";
  return instances > replicas ? `${replicas}+${instances - replicas}` : String(replicas);
}

/** "rolling 1/3": the number of instances with the new template. */
const rollout = ({ state, updated = 0, instances = 0 }: ServiceRow): string =>
  state === "rolling" || state === "stopped" ? `${state} ${updated}/${instances}` : state;

const ended = ({ ended: count = 0 }: ServiceRow): string =>
  count === 0 ? "" : `${count} ended for good`;

const age = ({ createdAtMs }: ServiceRow, nowMs: number): string =>
  ago(createdAtMs, nowMs).replace(/ ago$/, "");

export const INSTANCES: RowKind<InstanceRow> = {
  plural: "instances",
  name: ({ name }) => name,
  columns: ({ nowMs }) => [
    { title: "INSTANCE", value: (row) => row.name },
    { title: "JOB", align: "right", value: (row) => row.jobId },
    { title: "STATE", value: (row) => row.state, style: (row) => stateStyle(row.state) },
    { title: "GENERATION", align: "right", value: generation },
    { title: "NODE", value: (row) => row.node ?? "" },
    momentColumn("STARTED", (row) => row.startedAtMs, nowMs),
    { title: "RESTARTS", align: "right", value: (row) => String(row.restarts ?? "") },
    { title: "REASON", value: (row) => row.reason ?? (row.removing ? "being removed" : "") },
  ],
};

export const renderInstances = (instances: readonly InstanceRow[], page: TerminalPage): string =>
  renderTable(INSTANCES.columns(page), instances, page);

/** "1", or "1 > 2" while it is replaced. */
const generation = ({ generation: now, wantedGeneration: next }: InstanceRow): string =>
  now === next ? String(now) : `${now} > ${next}`;

export function renderService(
  service: ServiceRow,
  instances: readonly InstanceRow[],
  page: TerminalPage,
): string {
  const { template, rollout: terms } = service;
  const { maxUnavailable = 1, minReadyMs = 0, failuresMax = 1 } = terms ?? {};
  const fields = renderFields(
    [
      ["Service", service.name],
      ["Wanted", wanted(service)],
      ["Running", String(service.running ?? "")],
      ["Generation", String(service.generation)],
      ["Rollout", rollout(service), rolloutStyle(service.state)],
      ["Reason", service.reason ?? ended(service)],
      ["Former", service.former.join(", ")],
      ["Command", template?.script ?? joinShell(template?.command ?? [])],
      ["Workload", firstLine(template?.workload ?? "")],
      ["Image", template?.image ?? ""],
      ["Restart", template?.service?.restart ?? ""],
      ["Needs", resources(template?.resources ?? {})],
      ["Group", template?.group ?? ""],
      [
        "Replaced",
        `${maxUnavailable} at once, ready after ${formatDuration(minReadyMs)}, stops after ${failuresMax} failures`,
      ],
      ["Created", moment(service.createdAtMs)],
      ["Changed by", service.changedBy],
    ],
    page,
  );
  return instances.length === 0 ? fields : `${fields}\n\n${renderInstances(instances, page)}`;
}
