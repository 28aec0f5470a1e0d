import { expect, test } from "vitest";
import type { RowKind } from "../render/table.ts";
import { RowBook } from "./row-book.ts";

interface Row {
  readonly id: string;
  readonly revision: number;
  readonly used?: number;
}

const kind: RowKind<Row> = { plural: "rows", name: ({ id }) => id, columns: () => [] };
const aBook = (limit = 10) =>
  new RowBook<Row>({
    kind,
    revisionOf: ({ revision }) => revision,
    choose: (rows) => [...rows].sort((a, b) => Number(b.id) - Number(a.id)).slice(0, limit),
  });

test("a row older than the known one changes nothing", () => {
  const book = aBook();
  book.replace([{ id: "1", revision: 5 }]);
  expect(book.see({ row: { id: "1", revision: 4, used: 9 } })).toEqual([]);
  expect(book.replace([{ id: "1", revision: 3 }])).toEqual([]);
  expect(book.shown).toEqual([{ id: "1", revision: 5 }]);
});

test("a list that is read again reports only new rows, also at the same revision", () => {
  const book = aBook();
  book.replace([
    { id: "1", revision: 1 },
    { id: "2", revision: 1 },
  ]);
  const again = [
    { id: "1", revision: 1 },
    { id: "2", revision: 1, used: 3 },
  ];
  expect(book.replace(again)).toEqual([{ name: "2", row: { id: "2", revision: 1, used: 3 } }]);
  expect(book.replace(again.slice(1))).toEqual([{ name: "1", row: undefined }]);
});

test("a row that newer ones displace is not reported, and a removed one is", () => {
  const book = aBook(2);
  book.replace([
    { id: "1", revision: 1 },
    { id: "2", revision: 1 },
  ]);
  const third = { id: "3", revision: 2 };
  expect(book.see({ row: third })).toEqual([{ name: "3", row: third }]);
  expect(book.shown.map(({ id }) => id)).toEqual(["3", "2"]);
  expect(book.see({ removed: "2" })).toEqual([{ name: "2", row: undefined }]);
  expect(book.see({ removed: "2" })).toEqual([]);
});
