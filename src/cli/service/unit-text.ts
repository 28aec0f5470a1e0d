import { invalid } from "../../lib/errors.ts";

/** What systemd is to run. */
export type UnitPart = "server" | "agent";

export interface UnitOptions {
  /** The absolute path of the busbar command. */
  readonly program: string;
  /** Whose processes tasks are; the server has a user of its own that systemd makes. */
  readonly user: string | undefined;
  /** Flags of `busbar server` or `busbar agent`. */
  readonly flags: readonly string[];
}

export const unitNameOf = (part: UnitPart): string => `busbar-${part}.service`;

/** The unit file. The server is confined; an agent's tasks may do what their user may. */
export function unitText(part: UnitPart, { program, user, flags }: UnitOptions): string {
  const data = part === "server" ? "busbar" : "busbar-agent";
  const own = flags.some((flag) => flag === "--data" || flag.startsWith("--data="))
    ? []
    : ["--data", `/var/lib/${data}`];
  const command = [program, part, ...own, ...flags].map(quote).join(" ");
  const lines = part === "server" ? SERVER : [`User=${checkedUser(user)}`, ...AGENT];
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

/** It needs its data, its ports and its own code, which it compiles as it runs. */
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

/** Restrictions here would restrict tasks, too. */
const AGENT: readonly string[] = [
  "# Tasks go on while the agent restarts; the next one finds them.",
  "KillMode=process",
  "# The agent may make control groups below its own, and give them limits.",
  "Delegate=yes",
  "# From systemd 254 on; older versions ignore it, and the agent moves aside by itself.",
  "DelegateSubgroup=busbar-agent",
  "LimitNOFILE=65536",
  "OOMPolicy=continue",
  "NoNewPrivileges=no",
  "ProtectClock=yes",
  "ProtectKernelLogs=yes",
  "ProtectKernelModules=yes",
];

function checkedUser(user: string | undefined): string {
  if (user === undefined) throw invalid("--user", "is missing: tasks run as this user");
  if (/^[a-z_][a-z0-9_-]{0,30}$/.test(user)) return user;
  throw invalid("--user", `"${user}" is not the name of a user`);
}

/** As systemd reads words: quoted where they hold spaces or quotes, "%" and "$" as they are. */
function quote(word: string): string {
  if (/[\0\n]/.test(word)) throw invalid("flags", "must be texts of one line");
  const plain = word.replaceAll("%", "%%").replaceAll("$", "$$$$");
  if (/^[\w@%+=:,./$-]+$/.test(plain)) return plain;
  return `"${plain.replaceAll(/["\\]/g, "\\$&")}"`;
}
