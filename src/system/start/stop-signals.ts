import { readFileSync } from "node:fs";

const LOOK_MS = 250;

/** Fires on the first request to stop; the second one ends the process at once. */
export function stopOnSignals(): AbortSignal {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(1);
      stop.abort();
    });
  }
  // Set by ./busbar. Jobs, which inherit the rest, must not see it.
  const isNohup = process.env["BUSBAR_NOHUP"] !== undefined;
  delete process.env["BUSBAR_NOHUP"];
  if (isNohup) process.on("SIGHUP", () => undefined);
  else stopWithNpm(stop);
  return stop.signal;
}

/**
 * npx and npm start run a program through a shell. A signal to npm ends npm and at most that shell: the program would continue, hold its
 * ports and data, and nobody would see it. Programs that such a program starts inherit npm's variables, but have another parent.
 */
function stopWithNpm(stop: AbortController): void {
  const { npm_command: command = "" } = process.env;
  const shell = process.ppid;
  const npm = parentOf(shell);
  if (!["exec", "start"].includes(command) || npm === undefined || !isShell(shell)) return;
  const timer = setInterval(() => {
    if (process.ppid === shell && parentOf(shell) === npm) return;
    clearInterval(timer);
    stop.abort();
  }, LOOK_MS);
  timer.unref();
}

const isShell = (pid: number): boolean =>
  readProcess(pid, "cmdline")?.startsWith("sh\0-c\0") === true;

function parentOf(pid: number): string | undefined {
  return /^PPid:\s*(\d+)$/m.exec(readProcess(pid, "status") ?? "")?.[1];
}

/** Undefined when it has ended, and on systems without /proc. */
function readProcess(pid: number, name: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return undefined;
  }
}
