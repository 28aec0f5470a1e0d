import { expect, test } from "vitest";
import type { ClusterList } from "./decode.ts";
import type { Authenticator } from "../../../server/credentials/authenticator.ts";
import { TokenLists } from "./token-lists.ts";

/** Tokens "t-<cluster>" are right; records the checked tokens, and whether proofs still hold. */
function world() {
  const shown: unknown[] = [];
  let version = 1;
  const authenticator: Pick<Authenticator, "submitter"> = {
    submitter: async (list) => {
      shown.push(list.map(({ cluster }) => cluster).join());
      const made = version;
      const isRight = list.every(({ cluster, token }) => token === `t-${cluster}`);
      const clusters = [...new Set(list.map(({ cluster }) => cluster))];
      const principal = { kind: "submitter", clusters } as const;
      return isRight ? { principal, holds: () => made === version } : undefined;
    },
  };
  const change = (): unknown => version++;
  return { authenticator, shown, change };
}

function listOf(...pairs: readonly (readonly [string, string])[]): ClusterList {
  return {
    bytes: pairs.map(([name, token]) => Buffer.from(`${name}\0${token}`)),
    read: () => pairs.map(([name, token]) => ({ name, token })),
  };
}

test("a correct list is not checked again, until something changes", async () => {
  const { authenticator, shown, change } = world();
  const lists = new TokenLists();
  const list = listOf(["a", "t-a"], ["b", "t-b"], ["a", "t-a"], ["", "x"], ["c", ""]);
  expect(await lists.submitterOf(authenticator, list)).toMatchObject({ clusters: ["a", "b"] });
  expect(await lists.submitterOf(authenticator, list)).toMatchObject({ clusters: ["a", "b"] });
  expect(shown).toEqual(["a,b,a"]);
  change();
  await lists.submitterOf(authenticator, list);
  expect(shown).toHaveLength(2);
});

test("another list, different by one byte or by the end of an entry, is checked separately", async () => {
  const { authenticator, shown } = world();
  const lists = new TokenLists();
  await lists.submitterOf(authenticator, listOf(["a", "t-a"], ["b", "t-b"]));
  await expect(
    lists.submitterOf(authenticator, listOf(["a", "t-a"], ["b", "t-c"])),
  ).rejects.toThrow("request denied");
  const joined = { bytes: [Buffer.from("a\0t-ab\0t-b")], read: () => [{ name: "x", token: "y" }] };
  await expect(lists.submitterOf(authenticator, joined)).rejects.toThrow("request denied");
  await expect(lists.submitterOf(authenticator, listOf(["", ""]))).rejects.toThrow("one or more");
  expect(shown).toEqual(["a,b", "a,b", "x"]);
});
