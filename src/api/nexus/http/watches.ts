import { AppError, invalid } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { WatchQuery } from "../../../server/operations/operations.ts";
import type { OpenWatch } from "../../../server/watch/watch-format.ts";
import { addressOf } from "../../grpc/peer-address.ts";
import { wantsTable } from "../documents/accept.ts";
import { type KindName, KINDS, type NexusKind, type Served } from "../model/kinds.ts";
import type { NexusObject } from "../model/object.ts";
import { type Exchange, includedOf, isSet, numberOf, textOf } from "./exchange.ts";
import { type ListHost, selectorOf } from "./lists.ts";
import type { Formats, WatchShape } from "./watch-events.ts";
import { WatchStream } from "./watch-stream.ts";

export interface WatchHost extends ListHost {
  readonly formats: Formats;
  /** Ends with the server. */
  readonly closing: AbortSignal;
  /** Told of each watch that is open, for as long as it is. */
  readonly opened: (kind: NexusKind, agent: string) => () => void;
}

/** Which events of Busbar concern a kind. */
const EVENTS: Readonly<Partial<Record<KindName, WatchQuery["kinds"]>>> = {
  Job: ["job", "nexus"],
  JobInfo: ["task", "job", "nexus"],
  Edge: ["node", "task", "nexus"],
  EdgeDC: ["node", "nexus"],
  PowerScheduler: ["nexus"],
  Config: ["nexus"],
  Inventory: ["nexus"],
  DesiredSiteConfig: ["nexus"],
  SchedulerConfig: ["nexus"],
};
const ALL_EVENTS: WatchQuery["kinds"] = ["job", "task", "node", "cluster", "group", "nexus"];

export async function watch(host: WatchHost, served: Served, exchange: Exchange): Promise<void> {
  const { query, request, response, operations } = exchange;
  const { kind } = served;
  if (query.has("sendInitialEvents")) {
    throw invalid("sendInitialEvents", "is not supported; list, and watch from there");
  }
  const isTable = wantsTable(request.headers.accept);
  const shape: WatchShape = {
    served,
    selector: selectorOf(query),
    table: isTable ? includedOf(query) : undefined,
    hasBookmarks: isSet(query, "allowWatchBookmarks"),
  };
  const timeoutS = numberOf(query, "timeoutSeconds");
  const asked = textOf(query, "resourceVersion") ?? "0";
  const isFromStart = asked === "0";
  const afterRevision = isFromStart ? host.reader.revision : revisionOf(host, asked);
  const format = host.formats.of(shape);
  const present = isFromStart ? await allOf(host, shape, exchange) : [];
  if (response.destroyed) return;
  const stream = new WatchStream(response);
  const { socket } = request;
  const caller = { connection: socket, address: addressOf(`${socket.remoteAddress}:`) };
  const kinds = EVENTS[kind.kind] ?? ALL_EVENTS;
  const open = openWatch(() =>
    operations.watch({ afterRevision, kinds }, { format, sink: stream, caller }),
  );
  const type = isTable ? "application/json;as=Table;v=v1;g=meta.k8s.io" : "application/json";
  const timeoutMs = timeoutS === undefined ? undefined : timeoutS * 1_000;
  stream.start(open, type, timeoutMs);
  const left = host.opened(kind, request.headers["user-agent"] ?? "");
  const stop = (): void => open.end(new AppError("unavailable", "the server is stopping"));
  host.closing.addEventListener("abort", stop, { once: true });
  response.once("close", () => {
    left();
    host.closing.removeEventListener("abort", stop);
  });
  for (const object of present) stream.write(format.line({ type: "ADDED", object }));
  if (kind.kind === "SchedulerConfig") tellStats(host, exchange, { stream, format });
}

/** From the future, or from before what is kept: clients list again. */
function openWatch(open: () => OpenWatch): OpenWatch {
  try {
    return open();
  } catch (error) {
    const known = AppError.from(error, "watch");
    throw known.field === "afterRevision" ? expired(known.problem) : known;
  }
}

const expired = (why: string): AppError => new AppError("compacted", why);

function revisionOf({ reader }: WatchHost, text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw invalid("resourceVersion", "must be a whole number");
  const revision = Number(text);
  if (revision >= reader.tree.asides.lostUpTo) return revision;
  throw expired(`changes after ${revision} are no longer kept; list again`);
}

/** A watch from the start begins with all there is. */
async function allOf(
  host: WatchHost,
  { served, selector }: WatchShape,
  { operations }: Exchange,
): Promise<readonly NexusObject[]> {
  const objects: NexusObject[] = [];
  let from: string | undefined;
  do {
    const limit = limits.nexusListMax;
    const page = await host.reader.page(operations, served.kind, { selector, limit, from });
    objects.push(...page.objects);
    if (objects.length > limits.nexusInitialMax) {
      throw invalid("resourceVersion", "there are too many objects to begin with; list them first");
    }
    from = page.next;
  } while (from !== undefined);
  return objects;
}

/** Statistics are no row: they are looked at now and then, and told when they have changed. */
function tellStats(
  { reader }: WatchHost,
  { operations }: Exchange,
  { stream, format }: { readonly stream: WatchStream; readonly format: ReturnType<Formats["of"]> },
): void {
  let last = "";
  const look = async (): Promise<void> => {
    const object = await reader.get(operations, KINDS.SchedulerConfig, "default");
    const state = JSON.stringify(object.status);
    if (last !== "" && last !== state) stream.write(format.line({ type: "MODIFIED", object }));
    last = state;
  };
  const tell = (): void => void look().catch(() => stream.cut());
  tell();
  stream.every(limits.nexusStatsMs, tell);
}
