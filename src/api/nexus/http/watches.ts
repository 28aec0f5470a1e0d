import { acceptsGzip } from "../../../lib/bytes/accept-encoding.ts";
import { AppError, invalid } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { WatchQuery } from "../../../server/operations/operations.ts";
import type { OpenWatch } from "../../../server/watch/watch-format.ts";
import { addressOf } from "../../grpc/peer-address.ts";
import { wantsTable } from "../documents/accept.ts";
import { type KindName, KINDS, type NexusKind, type Served } from "../model/kinds.ts";
import type { NexusObject } from "../model/object.ts";
import { turns } from "../../../server/loop/in-slices.ts";
import type { ListPage } from "../tree/reader.ts";
import { type Exchange, includedOf, isSet, numberOf, textOf } from "./exchange.ts";
import { type ListHost, selectorOf } from "./lists.ts";
import type { Formats, NexusFormat, WatchShape } from "./watch-events.ts";
import { WatchStream } from "./watch-stream.ts";

export interface WatchHost extends ListHost {
  readonly formats: Formats;
  /** Ends with the server. */
  readonly closing: AbortSignal;
  /** Notified of each open watch, and of its end. */
  readonly opened: (kind: NexusKind, agent: string) => () => void;
}

/** The events of Busbar that concern a kind. */
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
  const isGzip = acceptsGzip(request.headers["accept-encoding"]);
  const timeoutS = numberOf(query, "timeoutSeconds");
  const asked = textOf(query, "resourceVersion") ?? "0";
  const isFromStart = asked === "0";
  const afterRevision = isFromStart ? host.reader.revision : revisionOf(host, asked);
  const objects =
    shape.selector.isOfStatus && !isFromStart ? await allOf(host, shape, exchange) : [];
  const format = host.formats.of(shape, { objects, revision: host.reader.revision });
  const first = isFromStart ? await pageOf(host, shape, exchange, undefined) : undefined;
  if (response.destroyed) return;
  const stream = new WatchStream(response, isGzip);
  const { socket } = request;
  const caller = { connection: socket, address: addressOf(`${socket.remoteAddress}:`) };
  const kinds = EVENTS[kind.kind] ?? ALL_EVENTS;
  const open = (): void => {
    const query = { afterRevision, kinds };
    stream.attach(
      openWatch(() =>
        operations.watch(query, { format: isGzip ? format.gzip : format, sink: stream, caller }),
      ),
    );
  };
  // All rejections happen before anything is sent.
  if (first === undefined) open();
  stream.start(isTable ? TABLE_TYPE : "application/json", timeoutMsOf(timeoutS));
  const left = host.opened(kind, request.headers["user-agent"] ?? "");
  const stop = (): void => stream.end(new AppError("unavailable", "the server is stopping"));
  host.closing.addEventListener("abort", stop, { once: true });
  response.once("close", () => {
    left();
    host.closing.removeEventListener("abort", stop);
  });
  if (first !== undefined) {
    try {
      await sendPresent(host, shape, exchange, { stream, format, first });
      if (!stream.isOver) open();
    } catch (error) {
      stream.end(AppError.from(error, "watch"));
    }
  }
  if (kind.kind === "SchedulerConfig") tellStats(host, exchange, { stream, format });
}

/** As in Kubernetes, 0 is no timeout: a client that sends it would watch again and again. */
const timeoutMsOf = (seconds = 0): number | undefined =>
  seconds === 0 ? undefined : Math.min(seconds * 1_000, limits.timerMsMax);

const TABLE_TYPE = "application/json;as=Table;v=v1;g=meta.k8s.io";

/** A revision of the future, or one that is no longer retained: clients list again. */
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
  throw expired(`changes after ${revision} have expired; list again`);
}

const pageOf = (
  { reader }: WatchHost,
  { served, selector }: WatchShape,
  { operations }: Exchange,
  from: string | undefined,
): Promise<ListPage> =>
  reader.page(operations, served.kind, { selector, limit: limits.nexusListMax, from });

/** The selection by status when its watch begins, after a list. */
async function allOf(
  host: WatchHost,
  shape: WatchShape,
  exchange: Exchange,
): Promise<readonly NexusObject[]> {
  const objects: NexusObject[] = [];
  let from: string | undefined;
  do {
    const page = await pageOf(host, shape, exchange, from);
    objects.push(...page.objects);
    if (objects.length > limits.nexusMembersMax) {
      const most = `at most ${limits.nexusMembersMax} objects`;
      throw invalid("fieldSelector", `a watch by a field of the status may select ${most}`);
    }
    from = page.next;
  } while (from !== undefined);
  return objects;
}

/** A watch from the start begins with all objects: page by page, as its reader reads. A reader that reads nothing is cut off. */
async function sendPresent(
  host: WatchHost,
  shape: WatchShape,
  exchange: Exchange,
  {
    stream,
    format,
    first,
  }: {
    readonly stream: WatchStream;
    readonly format: NexusFormat;
    readonly first: ListPage;
  },
): Promise<void> {
  let page = first;
  for (let pages = 1; !stream.isOver; pages++) {
    for (const block of blocksOf(page.objects, format)) {
      const late = setTimeout(() => stream.cut(), limits.sseHeartbeatIntervalMs);
      await stream.write(block).finally(() => clearTimeout(late));
    }
    if (page.next === undefined) return;
    await turns.next(pages);
    page = await pageOf(host, shape, exchange, page.next);
  }
}

function* blocksOf(objects: readonly NexusObject[], format: NexusFormat): Generator<Buffer> {
  let lines: Buffer[] = [];
  let bytes = 0;
  for (const object of objects) {
    const line = format.line({ type: "ADDED", object });
    lines.push(line);
    bytes += line.length;
    if (bytes < limits.watchBlockBytesMax) continue;
    yield Buffer.concat(lines);
    [lines, bytes] = [[], 0];
  }
  if (bytes > 0) yield Buffer.concat(lines);
}

/** Statistics have no row: they are polled now and then, and sent when they have changed. */
function tellStats(
  { reader }: WatchHost,
  { operations }: Exchange,
  { stream, format }: { readonly stream: WatchStream; readonly format: NexusFormat },
): void {
  let last = "";
  const look = async (): Promise<void> => {
    const object = await reader.get(operations, KINDS.SchedulerConfig, "default");
    const state = JSON.stringify(object.status);
    const isNews = last !== "" && last !== state;
    last = state;
    if (isNews) await stream.write(format.line({ type: "MODIFIED", object }));
  };
  const tell = (): void => void look().catch(() => stream.cut());
  tell();
  stream.every(limits.nexusStatsMs, tell);
}
