import { expect, test } from "vitest";
import type { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { RemoteShell } from "../../../ports/remote-shell.ts";
import { NodeNames } from "./node-names.ts";

class AShell implements RemoteShell {
  readonly id = "";
  readonly address = "";
  readonly #over = new AbortController();
  readonly closed = this.#over.signal;
  answers = true;
  reason: AppError | undefined;

  exec(): never {
    throw new Error("nothing is run here");
  }

  isThere(): Promise<boolean> {
    return Promise.resolve(this.answers);
  }

  close(reason: AppError): void {
    this.reason = reason;
    this.#over.abort();
  }
}

const who = (process: string, over: Partial<Parameters<NodeNames["claim"]>[0]> = {}) => ({
  hostname: "Blue_1",
  identity: "3fa1c2d4e5f6",
  process,
  likeness: "same",
  named: [],
  ...over,
});

test("a restarted worker is recognized by its user, directory and command line, not by the order of arrival", async () => {
  const named = ["a", "b", "c"].map((likeness, at) => ({
    name: at === 0 ? "gs-blue-1" : `gs-blue-1-${at + 1}`,
    likeness,
    process: `old ${likeness}`,
  }));
  const names = new NodeNames(); // after a restart of the server too
  const claim = (process: string, likeness: string) =>
    names.claim(who(process, { likeness, named }), new AShell());
  expect(await claim("new c", "c")).toBe("gs-blue-1-3");
  expect(await claim("old b", "other")).toBe("gs-blue-1-2");
  expect(await claim("new", "nobody's")).toBe("gs-blue-1");
  expect(await claim("new a", "a")).toBe("gs-blue-1-4"); // its own name is in use
});

test("a name on a machine's disk that belongs to another machine gives it nothing", async () => {
  for (const name of ["gs-green", "gs-blue-10-2", "gs-blue-1-x", "default"]) {
    const named = [{ name, likeness: "same", process: "a" }];
    expect(await new NodeNames().claim(who("a", { named }), new AShell())).toBe("gs-blue-1");
  }
});

test("a machine has one name, whenever it connects", async () => {
  const names = new NodeNames();
  const [first, second] = [new AShell(), new AShell()];
  expect(await names.claim(who("a"), first)).toBe("gs-blue-1");
  names.release("gs-blue-1", first);
  expect(await names.claim(who("b"), second)).toBe("gs-blue-1");
});

test("several programs on one machine have one name each, and find it again", async () => {
  const names = new NodeNames();
  const shells = { a: new AShell(), b: new AShell(), c: new AShell() };
  expect(await names.claim(who("a"), shells.a)).toBe("gs-blue-1");
  expect(await names.claim(who("b"), shells.b)).toBe("gs-blue-1-2");
  expect(await names.claim(who("c"), shells.c)).toBe("gs-blue-1-3");
  names.release("gs-blue-1", shells.a);
  names.release("gs-blue-1-2", shells.b);
  expect(await names.claim(who("b"), new AShell())).toBe("gs-blue-1-2");
  expect(await names.claim(who("a"), new AShell())).toBe("gs-blue-1");
});

test("a process that connects again ends its old link at once", async () => {
  const names = new NodeNames();
  const [old, anew] = [new AShell(), new AShell()];
  await names.claim(who("a"), old);
  expect(await names.claim(who("a"), anew)).toBe("gs-blue-1");
  expect(old.closed.aborted).toBe(true);
  names.release("gs-blue-1", old); // which no longer has a name
  expect(await names.claim(who("b"), new AShell())).toBe("gs-blue-1-2");
});

test("a link that no longer answers loses its name", async () => {
  const names = new NodeNames();
  const [silent, alive] = [new AShell(), new AShell()];
  await names.claim(who("a"), silent);
  await names.claim(who("b"), alive);
  silent.answers = false;
  expect(await names.claim(who("c"), new AShell())).toBe("gs-blue-1");
  expect([silent.closed.aborted, alive.closed.aborted]).toEqual([true, false]);
});

test("of two machines with one host name the second gets a suffix, whichever connects first later", async () => {
  const names = new NodeNames();
  const [shell, others] = [new AShell(), new AShell()];
  const other = who("b", { identity: "999999aaaa" });
  await names.claim(who("a"), shell);
  expect(await names.claim(other, others)).toBe("gs-blue-1-999999");
  // After a restart of the server, the node of the first one shows that it is not the second's.
  const later = new NodeNames();
  expect(await later.claim(other, others)).toBe("gs-blue-1");
  later.release("gs-blue-1", others);
  expect(later.refuse(other)).toBe(true);
  expect(await later.claim(other, others)).toBe("gs-blue-1-999999");
  expect(later.refuse(other)).toBe(false);
});

test("host names may be anything", async () => {
  const name = (hostname: string) => new NodeNames().claim(who("a", { hostname }), new AShell());
  expect(await name("")).toBe("gs-worker");
  expect(await name("...")).toBe("gs-worker");
  expect(await name("Ünï host.example.org")).toBe("gs-n-host.example.org");
  expect((await name("x".repeat(500))).length).toBeLessThan(limits.nameLengthMax - 20);
});
