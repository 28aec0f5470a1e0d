/** An id with Flux's letter in front, in plain ASCII; Flux also prints another letter and reads both. */
export const asciiId = (id: string): string => id.trim().replace(/^ƒ/, "f");

/** A job's own id, as its script finds it. A batch script is not a job itself: there the script asks the instance, which is the job. */
export const OWN_ID = `$(printf %s "\${FLUX_JOB_ID:-$(flux getattr jobid)}" | sed 's/^ƒ/f/')`;
