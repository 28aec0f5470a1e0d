import { AppError, invalid } from "../../lib/errors.ts";

/** The part of Busbar that a unit runs. */
export type UnitPart = "server" | "agent";

export interface UnitOptions {
  /** The absolute path of the busbar command. */
  readonly program: string;
  /** The user of tasks; the server has its own user, which systemd makes. */
  readonly user: string | undefined;
  /** Flags of `busbar server` or `busbar agent`. */
  readonly flags: readonly string[];
}

export const unitNameOf = (part: UnitPart): string => `busbar-${part}.service`;

/** The unit file. The server is confined; an agent's tasks may do what their user may. */
export function unitText(part: UnitPart, { program, user, flags }: UnitOptions): string {
  const data = part === "server" ? "busbar" : "busbar-agent";
  const has = (name: string): boolean =>
    flags.some((flag) => flag === name || flag.startsWith(`${name}=`));
  checkData(part, flags);
  const own = has("--data") ? [] : ["--data", `/var/lib/${data}`];
  const hasGroup = part === "agent" && !has("--cgroup");
  if (hasGroup) own.push("--cgroup", TASK_GROUP);
  const command = [checkedProgram(program), part, ...own, ...flags].map(quote).join(" ");
  const lines = part === "server" ? SERVER : agentLines(checkedUser(user), hasGroup);
  return `# Made by \`busbar service install ${part}\`, which \`busbar service uninstall ${part}\` undoes.
[Unit]
Description=Busbar ${part}
Documentation=man:systemd.service(5)
After=network-online.target
Wants=network-online.target

[Service]
ExecStart=${command}
StateDirectory=${data}
StateDirectoryMode=0700
Restart=always
RestartSec=2s
${lines.join("\n")}

[Install]
WantedBy=multi-user.target
`;
}

/** It needs its data, its ports and its own code, which V8 compiles at run time. */
const SERVER: readonly string[] = [
  "DynamicUser=yes",
  "UMask=0077",
  "LimitNOFILE=65536",
  "CapabilityBoundingSet=",
  "AmbientCapabilities=",
  "NoNewPrivileges=yes",
  "ProtectSystem=strict",
  "ProtectHome=read-only",
  "PrivateTmp=yes",
  "PrivateDevices=yes",
  "PrivateUsers=yes",
  "ProtectClock=yes",
  "ProtectControlGroups=yes",
  "ProtectHostname=yes",
  "ProtectKernelLogs=yes",
  "ProtectKernelModules=yes",
  "ProtectKernelTunables=yes",
  "ProtectProc=invisible",
  "RemoveIPC=yes",
  "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX",
  "RestrictNamespaces=yes",
  "RestrictRealtime=yes",
  "RestrictSUIDSGID=yes",
  "LockPersonality=yes",
  "SystemCallArchitectures=native",
  "SystemCallFilter=@system-service",
  "SystemCallErrorNumber=EPERM",
];

/** Of the slice of the agent's unit, where the groups of tasks are. */
const SLICE_GROUP = "/sys/fs/cgroup/busbar.slice";
const TASK_GROUP = `${SLICE_GROUP}/tasks`;

/** Restrictions here would restrict tasks, too. */
const agentLines = (user: string, hasGroup: boolean): readonly string[] => [
  `User=${user}`,
  "# Tasks go on while the agent restarts; the next one finds them.",
  "KillMode=process",
  ...(hasGroup ? groupLines(user) : ["Delegate=yes"]),
  "LimitNOFILE=65536",
  "OOMPolicy=continue",
  "NoNewPrivileges=no",
  "ProtectClock=yes",
  "ProtectKernelLogs=yes",
  "ProtectKernelModules=yes",
];

/** Of a machine without control groups of version 2 nothing of this is there, and the agent says so. */
const groupLines = (user: string): readonly string[] => [
  "# Tasks have control groups beside that of the agent: in one with groups of tasks in it systemd could not start it again.",
  "Slice=busbar.slice",
  "Delegate=cpu memory pids",
  `ExecStartPre=-+/bin/sh -ec "cd ${SLICE_GROUP} && mkdir -p tasks && chown ${user} cgroup.procs tasks tasks/cgroup.procs tasks/cgroup.subtree_control"`,
];

/** The user of the server exists only while it runs, and may write only to the directory that systemd makes for it. */
function checkData(part: UnitPart, flags: readonly string[]): void {
  const at = flags.findIndex((flag) => /^--data(?:=|$)/.test(flag));
  if (at < 0) return;
  const data = /^--data=(.*)/s.exec(flags[at] ?? "")?.[1] ?? flags[at + 1] ?? "";
  if (part === "server" && !/^\/var\/lib\/busbar(?:\/|$)/.test(data)) {
    const problem = `the service cannot write to ${data}: systemd gives it /var/lib/busbar; leave the flag out`;
    throw invalid("--data", problem);
  }
  if (!data.startsWith("/")) throw invalid("--data", `"${data}" is not an absolute path`);
}

/** systemd rejects such names of programs, also in quotes. */
function checkedProgram(program: string): string {
  if (!/["'\\$]/.test(program)) return program;
  const problem = `systemd cannot start ${program}: install busbar in a directory without quotes, "$" and "\\" in its name`;
  throw new AppError("invalid_argument", problem);
}

function checkedUser(user: string | undefined): string {
  if (user === undefined) throw invalid("--user", "is missing: tasks run as this user");
  if (/^[a-z_][a-z0-9_-]{0,30}$/.test(user)) return user;
  throw invalid("--user", `"${user}" is not the name of a user`);
}

/** Words as systemd parses them: quoted if they contain spaces or quotes, "%" and "$" escaped. */
function quote(word: string): string {
  if (/[\0\n]/.test(word)) throw invalid("flags", "must be texts of one line");
  const plain = word.replaceAll("%", "%%").replaceAll("$", "$$$$");
  if (/^[\w@%+=:,./$-]+$/.test(plain)) return plain;
  return `"${plain.replaceAll(/["\\]/g, "\\$&")}"`;
}
