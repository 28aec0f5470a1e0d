import { appendFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

import type { CgroupFiles } from "../cgroups/cgroup-files.ts";
import { systemFiles } from "../cgroups/cgroup-files.ts";

const EMPTY = "populated 0\nfrozen 0\n";

/**
 * Control groups of plain files in a directory, for machines without them: `make` puts the kernel's files into each group, and launchers
 * find them there. It records all writes; processes never leave, as plain files do not track them.
 */
export class FakeCgroupFiles implements CgroupFiles {
  readonly root: string;
  /** "<group>/<file>=<text>", below the root. */
  readonly writes: string[] = [];
  readonly removed: string[] = [];
  readonly #controllers: string;

  constructor(root: string, controllers = "cpu memory pids") {
    this.root = root;
    this.#controllers = controllers;
    this.#fill(root);
  }

  make(path: string): void {
    if (existsSync(path)) return;
    mkdirSync(path);
    this.#fill(path);
  }

  remove(path: string): void {
    if (!existsSync(path)) throw Object.assign(new Error("gone"), { code: "ENOENT" });
    const isBusy = /populated 1/.test(this.read(join(path, "cgroup.events")) ?? "");
    if (isBusy || this.list(path).length > 0) {
      throw Object.assign(new Error("busy"), { code: "EBUSY" });
    }
    this.removed.push(basename(path));
    rmSync(path, { recursive: true });
  }

  write(path: string, text: string): void {
    this.writes.push(`${path.slice(this.root.length + 1)}=${text}`);
    if (!existsSync(path)) throw Object.assign(new Error("no such file"), { code: "ENOENT" });
    if (basename(path) === "cgroup.subtree_control") appendFileSync(path, `${text.slice(1)} `);
    else writeFileSync(path, text);
    if (basename(path) === "cgroup.kill") writeFileSync(join(path, "..", "cgroup.events"), EMPTY);
  }

  read(path: string): string | undefined {
    return systemFiles.read(path);
  }

  has(path: string): boolean {
    return existsSync(path);
  }

  list(path: string): readonly string[] {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  }

  enter(path: string): void {
    systemFiles.enter(path);
  }

  #fill(path: string): void {
    const texts = {
      "cgroup.type": "domain\n",
      "cgroup.controllers": this.#controllers,
      "cgroup.subtree_control": "",
      "cgroup.events": EMPTY,
      "cgroup.procs": "",
      "cgroup.kill": "",
      "memory.max": "max\n",
      "memory.swap.max": "max\n",
      "memory.oom.group": "0\n",
      "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n",
      "cpu.max": "max 100000\n",
      "cpu.weight": "100\n",
    };
    for (const [name, text] of Object.entries(texts)) writeFileSync(join(path, name), text);
  }
}
