import { type Command, Option } from "commander";
import { SPLITS } from "../../../core/model/job/energy.ts";
import { invalid } from "../../../lib/errors.ts";
import { parseWattSeconds } from "../../../lib/units.ts";
import { oneOf } from "../../flags.ts";

export interface EnergyFlags {
  readonly energy?: number;
  readonly leastShare?: number;
  readonly greatestShare?: number;
  readonly split?: (typeof SPLITS)[number];
}

const energy = (flag: string) => (text: string) => parseWattSeconds(text, flag);

export function addEnergyFlags(command: Command): void {
  command
    .option(
      "--energy <amount>",
      "split it by energy over nodes with power, e.g. 400Ws, 1.5kWh; needs no command",
      energy("--energy"),
    )
    .option(
      "--least-share <amount>",
      "smallest share (default: a sixteenth of the job)",
      energy("--least-share"),
    )
    .option(
      "--greatest-share <amount>",
      "largest share (default: the whole job)",
      energy("--greatest-share"),
    )
    .addOption(
      new Option(
        "--split <how>",
        "by the earliest end (default), over the fewest nodes, or spread over many",
      )
        .choices([...SPLITS])
        .argParser(oneOf("--split", SPLITS)),
    );
}

export function energyOf({ energy: all, leastShare, greatestShare, split }: EnergyFlags) {
  if (all !== undefined) {
    const wide = (value: number | undefined) => (value === undefined ? undefined : BigInt(value));
    const [least, greatest] = [wide(leastShare), wide(greatestShare)];
    return { wattSeconds: BigInt(all), leastShare: least, greatestShare: greatest, split };
  }
  const given = { "least-share": leastShare, "greatest-share": greatestShare, split };
  const [name] = Object.entries(given).find(([, value]) => value !== undefined) ?? [];
  if (name !== undefined) throw invalid(`--${name}`, "needs --energy");
  return undefined;
}
