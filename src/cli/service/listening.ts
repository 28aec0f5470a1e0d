import type { Listening } from "../context.ts";
import type { TerminalPage } from "../render/page.ts";
import { renderFields } from "../render/table.ts";

/** What other machines write after --server. "All addresses" would be each machine itself. */
function serverFor(grpc: string): string {
  const [, port] = /^(?:0\.0\.0\.0|\[::\]):(\d+)$/.exec(grpc) ?? [];
  return port === undefined ? grpc : `HOST:${port} (HOST: a name or address of this machine)`;
}

/** The first output for a newcomer: all addresses, and the next commands. */
export function renderListening(
  {
    http,
    grpc,
    rainbow,
    goSchedule,
    nexus,
    nexusRest: rest,
    rik,
    data,
    node,
    rainbowSecretFile = "",
    isInsecure,
    command,
  }: Listening,
  page: TerminalPage,
): string {
  const fields = renderFields(
    [
      ["REST", `http://${http} (docs: http://${http}/docs)`],
      ["gRPC", grpc],
      ["Rainbow", rainbow ?? ""],
      ["go-schedule", goSchedule ?? ""],
      ["Nexus", nexus === undefined ? "" : `http://${nexus} (kubectl -s ${nexus} get jobs)`],
      [
        "Nexus REST",
        rest === undefined ? "" : `http://${rest} (docs: http://${rest}/intel.com/docs)`,
      ],
      ["rik workers", rik?.workers ?? ""],
      ["rik controllers", rik?.controllers ?? ""],
      ["rik REST", rik?.rest === undefined ? "" : `http://${rik.rest}/api/v0/`],
      ["Data", data],
      ["Node", node ?? ""],
      ["Register secret", rainbowSecretFile],
    ],
    page,
  );
  const next =
    node === undefined
      ? `Add a node:  ${command} agent --server ${serverFor(grpc)}`
      : `Try:  ${command} ${grpc === "127.0.0.1:7071" ? "" : `--server ${grpc} `}run -- echo hello`;
  const warning =
    isInsecure === true
      ? "WARNING: every client that can reach these ports can run any command here (--insecure-listen).\n\n"
      : "";
  return `busbar is up; stop it with Ctrl-C.\n\n${warning}${fields}\n\n${next}`;
}
