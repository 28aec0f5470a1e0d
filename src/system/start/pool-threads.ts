import { limits } from "../../limits.ts";

/** Sets the size of libuv's pool of threads. It counts only before the first use of the pool. */
export function setPoolThreads(): void {
  process.env["UV_THREADPOOL_SIZE"] ??= String(limits.poolThreads);
}
