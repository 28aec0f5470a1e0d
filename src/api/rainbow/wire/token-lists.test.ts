import { expect, test } from "vitest";
import type { ClusterList } from "./decode.ts";
import type { RainbowOperations } from "../operations.ts";
import { TokenLists } from "./token-lists.ts";

/** Tokens "t-<cluster>" are right; what was shown, and whether proofs still hold. */
function world() {
  const shown: unknown[] = [];
  let version = 1;
  const operations = {
    checkTokens: async (list) => {
      shown.push(list.map(({ cluster }) => cluster).join());
      const made = version;
      const isRight = list.every(({ cluster, token }) => token === `t-${cluster}`);
      return isRight ? { holds: () => made === version } : undefined;
    },
  } satisfies Pick<RainbowOperations, "checkTokens">;
  const change = (): unknown => version++;
  return { operations: operations as unknown as RainbowOperations, shown, change };
}

function listOf(...pairs: readonly (readonly [string, string])[]): ClusterList {
  return {
    bytes: pairs.map(([name, token]) => Buffer.from(`${name}\0${token}`)),
    read: () => pairs.map(([name, token]) => ({ name, token })),
  };
}

test("a list that was right is not checked again, until something changes", async () => {
  const { operations, shown, change } = world();
  const lists = new TokenLists();
  const list = listOf(["a", "t-a"], ["b", "t-b"], ["a", "t-a"], ["", "x"], ["c", ""]);
  expect(await lists.namesOf(operations, list)).toEqual(["a", "b"]);
  expect(await lists.namesOf(operations, list)).toEqual(["a", "b"]);
  expect(shown).toEqual(["a,b,a"]);
  change();
  await lists.namesOf(operations, list);
  expect(shown).toHaveLength(2);
});

test("another list, be it by one byte or by where one ends, is checked by itself", async () => {
  const { operations, shown } = world();
  const lists = new TokenLists();
  await lists.namesOf(operations, listOf(["a", "t-a"], ["b", "t-b"]));
  await expect(lists.namesOf(operations, listOf(["a", "t-a"], ["b", "t-c"]))).rejects.toThrow(
    "request denied",
  );
  const joined = { bytes: [Buffer.from("a\0t-ab\0t-b")], read: () => [{ name: "x", token: "y" }] };
  await expect(lists.namesOf(operations, joined)).rejects.toThrow("request denied");
  await expect(lists.namesOf(operations, listOf(["", ""]))).rejects.toThrow("one or more");
  expect(shown).toEqual(["a,b", "a,b", "x"]);
});
