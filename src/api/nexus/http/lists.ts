import type { ServerResponse } from "node:http";
import { limits } from "../../../limits.ts";
import { turns } from "../../../server/loop/in-slices.ts";
import { wantsTable } from "../documents/accept.ts";
import { apiVersionOf, type Served } from "../model/kinds.ts";
import { DISPLAY_NAME } from "../model/names.ts";
import type { NexusObject } from "../model/object.ts";
import { type Selector, toSelector } from "../model/selectors.ts";
import { tableHead, toRow } from "../model/table.ts";
import { badContinue, type Reader } from "../tree/reader.ts";
import { type Exchange, includedOf, numberOf, textOf, writeWhenRoom } from "./exchange.ts";

export const selectorOf = (query: URLSearchParams): Selector =>
  toSelector(textOf(query, "labelSelector"), textOf(query, "fieldSelector"));

/** Where a list continues, and the minimum revision of all its pages. */
interface Continued {
  readonly revision: number;
  readonly from: string;
}

const toToken = (at: Continued): string =>
  Buffer.from(JSON.stringify([at.revision, at.from])).toString("base64url");

function fromToken(text: string | undefined): Continued | undefined {
  if (text === undefined) return undefined;
  try {
    const [revision, from] = JSON.parse(Buffer.from(text, "base64url").toString()) as unknown[];
    if (typeof revision === "number" && typeof from === "string") return { revision, from };
  } catch {
    // rejected below
  }
  throw badContinue();
}

export interface ListHost {
  readonly reader: Reader;
  readonly nowMs: () => number;
}

/**
 * In the requested form: in the group of an alias, and by the name that people use. kubectl compares the name in a file with that of the
 * object.
 */
export function asAsked(served: Served, object: NexusObject, name?: string): NexusObject {
  const { metadata } = object;
  const isPlain = name !== undefined && name === metadata.labels[DISPLAY_NAME];
  const shown = isPlain ? { ...object, metadata: { ...metadata, name } } : object;
  const isAlias = served.group !== served.kind.group;
  return isAlias ? { ...shown, apiVersion: apiVersionOf(served) } : shown;
}

/**
 * Answers page by page, so that no list is in memory as a whole, and other work has its turn in between. Without a limit all pages are sent
 * as one.
 */
export async function list(host: ListHost, served: Served, exchange: Exchange): Promise<void> {
  const { query, response, operations, request } = exchange;
  const { kind } = served;
  const selector = selectorOf(query);
  const asked = numberOf(query, "limit") ?? 0;
  const continued = fromToken(textOf(query, "continue"));
  const limit = Math.min(asked === 0 ? limits.nexusListMax : asked, limits.nexusListMax);
  const isAll = asked === 0;
  // Read before anything else: a watch from this revision misses nothing.
  const revision = continued?.revision ?? host.reader.revision;
  const read = (from: string | undefined) =>
    host.reader.page(operations, kind, { selector, limit, from });
  let page = await read(continued?.from);
  const isTable = wantsTable(request.headers.accept);
  const rows = new Rows(
    response,
    isTable ? "application/json;as=Table;v=v1;g=meta.k8s.io" : undefined,
  );
  const metadata = {
    resourceVersion: String(revision),
    ...(isAll || page.next === undefined
      ? {}
      : { continue: toToken({ revision, from: page.next }) }),
  };
  const head = isTable
    ? tableHead(kind, metadata)
    : { kind: `${kind.kind}List`, apiVersion: apiVersionOf(served), metadata };
  const included = isTable ? includedOf(query) : "Object";
  const render = (object: NexusObject): object => {
    const shown = asAsked(served, object, selector.name);
    return isTable ? toRow(kind, shown, host.nowMs(), included) : shown;
  };
  await rows.begin(head, isTable ? "rows" : "items");
  for (let pages = 1; ; pages++) {
    await rows.add(page.objects.map(render));
    if (!isAll || page.next === undefined) break;
    await turns.next(pages);
    page = await read(page.next);
  }
  rows.end();
}

/** A JSON document whose last member is a long list. */
class Rows {
  readonly #response: ServerResponse;
  readonly #type: string;
  #isFirst = true;

  constructor(response: ServerResponse, type = "application/json") {
    this.#response = response;
    this.#type = type;
  }

  async begin(head: object, name: string): Promise<void> {
    this.#response.writeHead(200, {
      "content-type": this.#type,
      "cache-control": "no-cache, private",
    });
    await writeWhenRoom(this.#response, `${JSON.stringify(head).slice(0, -1)},"${name}":[`);
  }

  async add(rows: readonly object[]): Promise<void> {
    if (rows.length === 0) return;
    const text = rows.map((row) => JSON.stringify(row)).join(",");
    await writeWhenRoom(this.#response, this.#isFirst ? text : `,${text}`);
    this.#isFirst = false;
  }

  end(): void {
    this.#response.end("]}\n");
  }
}
