import type { Clock } from "../ports/clock.ts";
import type { Logger } from "../ports/logger.ts";

const LOOK_EVERY_MS = 3_000;

interface RefusedConnections {
  /** Since the start. */
  readonly refused: number;
  readonly connectionsMax: number;
}

/** Warns of refused connections, once for all of the time since the last look. Returns a function that ends it. */
export function logRefusedConnections(
  pool: RefusedConnections,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): () => void {
  let told = pool.refused;
  let cancel = (): void => undefined;
  const look = (): void => {
    const { refused, connectionsMax } = pool;
    if (refused > told) {
      logger.warn(
        { refused: refused - told, connectionsMax },
        "connections refused: others are open; end them, or allow this process more open files (ulimit -n, LimitNOFILE)",
      );
    }
    told = refused;
    cancel = clock.after(LOOK_EVERY_MS, look);
  };
  look();
  return () => cancel();
}
