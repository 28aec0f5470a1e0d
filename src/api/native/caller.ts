import type { Caller } from "../../server/operations/operations.ts";

/**
 * Everyone who calls, while there is no authentication: a name that a caller gives itself in a
 * header would be written beside changes as if it were true.
 */
export const LOCAL_CALLER: Caller = { name: "local" };
