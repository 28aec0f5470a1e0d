export interface PageOf<Item> {
  readonly items: readonly Item[];
  readonly nextPageToken?: string | undefined;
  readonly revision?: bigint;
}

/**
 * Follows page tokens until there are `limit` items or no more. A page may be empty and still have a next one. `more`: items were left out.
 * `revision` is the first page's: a watch from there misses nothing.
 */
export async function collect<Item>(
  limit: number,
  fetch: (pageToken: string | undefined, wanted: number) => Promise<PageOf<Item>>,
): Promise<{ readonly items: readonly Item[]; readonly more: boolean; readonly revision: bigint }> {
  const items: Item[] = [];
  let pageToken: string | undefined;
  let revision: bigint | undefined;
  do {
    const page = await fetch(pageToken, limit - items.length);
    items.push(...page.items.slice(0, limit - items.length));
    pageToken = page.nextPageToken;
    revision ??= page.revision;
  } while (pageToken !== undefined && items.length < limit);
  return { items, more: pageToken !== undefined, revision: revision ?? 0n };
}
