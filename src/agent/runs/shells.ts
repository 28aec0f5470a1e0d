/** In order of preference. bash reports signals only under its own name, not as `sh`; dash starts twice as fast. */
export const SHELLS = ["/bin/dash", "/bin/bash", "/bin/sh"] as const;

/**
 * Variables that a shell would not pass on, or would fail on: they reach the command by env(1). PWD needs no env(1): the shell sets it to
 * the working directory.
 */
export const isKeptByShell = (name: string): boolean =>
  !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || ["IFS", "OPTIND", "PPID"].includes(name);
