import type { ServiceId } from "../../model/ids.ts";
import type { Service, Template } from "../../model/service/service.ts";
import { checkServices } from "../checks/services.ts";
import { decodeSpec, storedSpec, type StoredSpec } from "../jobs/job-codec.ts";
import { idOf, oneRow, type Removed, type WatchedTable, type Written } from "../table.ts";

export type ServiceChange = Written<"service", Service> | Removed<"service", ServiceId>;

type StoredTemplate = Omit<Template, "spec"> & { readonly spec: StoredSpec };
type StoredService = Omit<Service, "template" | "former"> & {
  readonly template: StoredTemplate;
  readonly former: readonly StoredTemplate[];
};

const stored = ({ spec, ...rest }: Template) => ({ ...rest, spec: storedSpec(spec) });

const encodeService = ({ template, former, ...rest }: Service): string =>
  JSON.stringify({ ...rest, template: stored(template), former: former.map(stored) });

const read = ({ spec, ...rest }: StoredTemplate): Template => ({ ...rest, spec: decodeSpec(spec) });

const decodeService = ({ template, former, ...rest }: StoredService): Service => ({
  ...rest,
  template: read(template),
  former: former.map(read),
});

/** Slots are in a table of their own, whose rows are read back after these. */
export const serviceTable: WatchedTable<ServiceChange> = {
  name: "service",
  isWatched: true,
  ...oneRow((change) => `service/${idOf(change)}`, encodeService),
  decode: (_key, value) => ({
    table: "service",
    row: decodeService(JSON.parse(value) as StoredService),
  }),
  newRows: () => undefined,
  apply(state, change) {
    if ("removed" in change) state.services.remove(change.removed);
    else state.services.put(change.row, state.writing);
  },
  isNewest({ services }, change) {
    if ("removed" in change) return services.get(change.removed) === undefined;
    return services.get(change.row.id)?.row === change.row;
  },
  check: checkServices,
  digest: ({ services }) => services.inOrder.map(({ row, revision }) => ({ row, revision })),
};
