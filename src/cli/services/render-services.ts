import { formatDuration } from "../../lib/units.ts";
import { joinShell } from "../../lib/shell.ts";
import type { InstanceRow, ServiceRow } from "../rows.ts";
import { type TerminalPage, type Style } from "../render/page.ts";
import { type Column, renderFields, renderTable } from "../render/table.ts";
import { ago, moment, resources, stateStyle } from "../render/values.ts";

const rolloutStyle = (state: string): Style | undefined =>
  state === "stopped" ? "red" : state === "done" ? "green" : "yellow";

export function renderServices(services: readonly ServiceRow[], page: TerminalPage): string {
  const columns: readonly Column<ServiceRow>[] = [
    { title: "NAME", value: (row) => row.name },
    { title: "WANTED", align: "right", value: wanted },
    { title: "RUNNING", align: "right", value: (row) => String(row.running ?? "") },
    { title: "GENERATION", align: "right", value: (row) => String(row.generation) },
    { title: "ROLLOUT", value: rollout, style: (row) => rolloutStyle(row.state) },
    { title: "AGE", align: "right", value: (row) => age(row, page.nowMs) },
    { title: "REASON", value: (row) => row.reason ?? ended(row) },
  ];
  return renderTable(columns, services, page);
}

/** "3", or "3+2" with instances that callers named. */
function wanted({ replicas, instances = replicas, state }: ServiceRow): string {
  if (state === "removing") return "0";
  return instances > replicas ? `${replicas}+${instances - replicas}` : String(replicas);
}

/** "rolling 1/3": how many have the new template. */
const rollout = ({ state, updated = 0, instances = 0 }: ServiceRow): string =>
  state === "rolling" || state === "stopped" ? `${state} ${updated}/${instances}` : state;

const ended = ({ ended: count = 0 }: ServiceRow): string =>
  count === 0 ? "" : `${count} ended for good`;

const age = ({ createdAtMs }: ServiceRow, nowMs: number): string =>
  ago(createdAtMs, nowMs).replace(/ ago$/, "");

export function renderInstances(instances: readonly InstanceRow[], page: TerminalPage): string {
  const columns: readonly Column<InstanceRow>[] = [
    { title: "INSTANCE", value: (row) => row.name },
    { title: "JOB", align: "right", value: (row) => row.jobId },
    { title: "STATE", value: (row) => row.state, style: (row) => stateStyle(row.state) },
    { title: "GENERATION", align: "right", value: generation },
    { title: "NODE", value: (row) => row.node ?? "" },
    { title: "STARTED", value: (row) => ago(row.startedAtMs, page.nowMs) },
    { title: "RESTARTS", align: "right", value: (row) => String(row.restarts ?? "") },
    { title: "REASON", value: (row) => row.reason ?? (row.removing ? "being removed" : "") },
  ];
  return renderTable(columns, instances, page);
}

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
