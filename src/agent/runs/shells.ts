/**
 * In order of preference. bash tells of signals only under its own name, not as `sh`; dash starts
 * twice as fast.
 */
export const SHELLS = ["/bin/dash", "/bin/bash", "/bin/sh"] as const;

/**
 * What a shell would keep for itself, or fail on: such variables reach the command by env(1).
 * PWD is right as it is: the shell corrects it to the working directory.
 */
export const isKeptByShell = (name: string): boolean =>
  !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || ["IFS", "OPTIND", "PPID"].includes(name);
