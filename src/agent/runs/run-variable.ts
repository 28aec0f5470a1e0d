import { readdirSync, readFileSync } from "node:fs";

/** A variable in the environment of every process of a run: its owner. No two agents of a machine share it. */
export const RUN_VARIABLE = "BUSBAR_RUN";

/** Processes of this machine in whose environment the variable has this value. */
export function processesMarked(value: string): number[] {
  const wanted = `\0${RUN_VARIABLE}=${value}\0`;
  return readdirSync("/proc").flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid)) return [];
    try {
      const text = readFileSync(`/proc/${pid}/environ`, "latin1");
      return `\0${text}\0`.includes(wanted) ? [pid] : [];
    } catch {
      return []; // ended, or unreadable for this user
    }
  });
}
