import type { RowWrite, Store, StoredRow } from "../../../src/ports/store.ts";

/** Data that outlives the stores opened over it. */
export interface StoreData {
  open(): Promise<Store>;
  remove(): Promise<void>;
}

/** An adapter as its contract sees it. */
export interface StoreContract {
  readonly name: string;
  readonly createData: () => Promise<StoreData>;
  readonly propertyRuns: number;
}

export const put = (key: string, value: string): RowWrite => ({ key, value });
export const del = (key: string): RowWrite => ({ key, value: undefined });

export async function loadAll(store: Store): Promise<StoredRow[]> {
  const rows: StoredRow[] = [];
  for await (const chunk of store.load()) rows.push(...chunk);
  return rows;
}

/** A test over its own data, which is removed afterwards. */
export function withData(
  { createData }: StoreContract,
  run: (data: StoreData) => Promise<void>,
): () => Promise<void> {
  return async () => {
    const data = await createData();
    try {
      await run(data);
    } finally {
      await data.remove();
    }
  };
}

/** The same with an open store; `reopen` closes it and opens the data again. */
export function withStore(
  contract: StoreContract,
  run: (store: Store, reopen: () => Promise<Store>) => Promise<void>,
): () => Promise<void> {
  return withData(contract, async (data) => {
    let store = await data.open();
    const reopen = async (): Promise<Store> => {
      await store.close();
      store = await data.open();
      return store;
    };
    try {
      await run(store, reopen);
    } finally {
      await store.close();
    }
  });
}
