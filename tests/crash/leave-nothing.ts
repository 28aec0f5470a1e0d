import { readdirSync, readFileSync } from "node:fs";

/** Ends the processes that this one started when it is interrupted: servers and agents would continue. */
export function killChildrenOnExit(): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => process.exit(130));
  }
  process.on("exit", () => {
    for (const pid of childrenOf("self")) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // ended by itself
      }
    }
  });
}

function childrenOf(pid: string): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8")
      .split(" ")
      .filter(Boolean)
      .map(Number),
  );
}
