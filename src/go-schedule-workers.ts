import { AppError } from "./lib/errors.ts";
import type { RemoteShell } from "./ports/remote-shell.ts";

/** A worker of go-schedule has come. */
export function attachWorker(shell: RemoteShell): void {
  shell.close(new AppError("unavailable", "workers are not served yet"));
}
