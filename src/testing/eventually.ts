const PAUSE_MS = 10;

/**
 * Waits until `check` returns something other than undefined or false, and returns that. Tests wait
 * on levels with it, never on edges; a check that throws fails the test at once.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  options: { readonly what: string | (() => string); readonly timeoutMs?: number },
): Promise<Exclude<T, undefined | false>> {
  const { what, timeoutMs = 60_000 } = options;
  const untilMs = performance.now() + timeoutMs;
  for (;;) {
    const value = await check();
    if (value !== undefined && value !== false) return value as Exclude<T, undefined | false>;
    if (performance.now() > untilMs) {
      throw new Error(`still waiting for ${typeof what === "string" ? what : what()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
