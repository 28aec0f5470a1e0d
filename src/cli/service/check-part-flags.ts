import { Command } from "commander";
import type { Context } from "../context.ts";
import { addGlobalFlags, resolveGlobals } from "../globals.ts";
import { declareAgent } from "../nodes/agent.ts";
import type { Session, Shell } from "../session.ts";
import { refuseRepeatedFlags } from "../single-flags.ts";
import { declareServer } from "./services.ts";
import type { UnitPart } from "./unit-text.ts";

const nothing = async (): Promise<void> => undefined;

/**
 * Throws what the part itself would at its start, and starts nothing: systemd would restart a unit with a wrong flag for ever, and only the
 * journal would say why.
 */
export async function checkPartFlags(
  session: Session,
  part: UnitPart,
  flags: readonly string[],
): Promise<void> {
  const command = new Command(part).exitOverride().helpOption(false);
  command.configureOutput({ outputError: () => undefined });
  const services = { ...session.context.services, server: nothing, agent: nothing };
  const context: Context = { ...session.context, services };
  const idle: Shell = {
    context,
    run: async (own, work) => {
      const { servers } = resolveGlobals(own, context.env);
      await work({ ...session, context, servers, print: nothing, note: nothing });
    },
    list: nothing,
  };
  const declare = part === "server" ? declareServer : declareAgent;
  declare(command, idle);
  addGlobalFlags(command);
  refuseRepeatedFlags(command);
  await command.parseAsync([...flags], { from: "user" });
}
