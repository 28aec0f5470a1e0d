/** An id with Flux's own letter in front, as it writes it for people, in plain ASCII: Flux reads both. */
export const asciiId = (id: string): string => id.trim().replace(/^ƒ/, "f");

/**
 * A job's own id as its script finds it. A batch script is no job itself: there the script asks the
 * instance, which is the job.
 */
export const OWN_ID = `$(printf %s "\${FLUX_JOB_ID:-$(flux getattr jobid)}" | sed 's/^ƒ/f/')`;
