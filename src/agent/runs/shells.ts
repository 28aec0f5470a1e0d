/** In order of preference. bash reports signals only under its own name, not as `sh`; dash starts twice as fast. */
export const SHELLS = ["/bin/dash", "/bin/bash", "/bin/sh"] as const;

/**
 * Variables that a shell would not pass on, or would fail on, or would change: they reach the command by env(1). PWD needs no env(1): the
 * shell sets it to the working directory.
 */
export const isKeptByShell = (name: string): boolean =>
  !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || OWN.has(name) || name.startsWith("BASH");

/** Some are only bash's. */
const OWN: ReadonlySet<string> = new Set(
  (
    "IFS OPTIND PPID OLDPWD _ UID EUID GROUPS SHELLOPTS RANDOM SRANDOM SECONDS EPOCHSECONDS EPOCHREALTIME " +
    "LINENO HISTCMD DIRSTACK FUNCNAME PIPESTATUS"
  ).split(" "),
);
