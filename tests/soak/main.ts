import { parseArgs } from "node:util";
import { killChildrenOnExit } from "../crash/leave-nothing.ts";
import { renderMinutes } from "./minutes.ts";
import { runSoak } from "./soak.ts";
import { judge, tolerance } from "./verdict.ts";

const USAGE = `npm run soak -- [--minutes 10] [--pause-ms 150]

Works a server and agents for minutes and fails when memory, descriptors, threads or zombies grow.
--pause-ms  between two jobs
`;

const print = (line: string): void => void process.stdout.write(`${line}\n`);

killChildrenOnExit();
const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    "pause-ms": { type: "string", default: "150" },
    help: { type: "boolean", default: false },
  },
});
const [minutes, pauseMs] = [Number(values.minutes), Number(values["pause-ms"])];
if (values.help || !Number.isInteger(minutes) || minutes < 1 || !(pauseMs >= 0)) {
  process.stderr.write(USAGE);
  process.exit(values.help ? 0 : 2);
}
print(
  "filling what is kept on purpose (history for watchers, ended tasks, outputs): a minute or two",
);
const onMinute = (so: Parameters<typeof renderMinutes>[0]): void =>
  print(
    renderMinutes(so)
      .split("\n")
      .slice(so.length === 1 ? 0 : -1)
      .join("\n"),
  );
const seen = await runSoak({ minutes, pauseMs, onMinute });
const grown = judge(seen);
const percent = Math.round(tolerance.memoryFraction * 100);
const { descriptors, threads } = tolerance;
print(`tolerated: memory +${percent} %, ${descriptors} descriptors, ${threads} threads, no zombie`);
for (const what of grown) print(`GROWN ${what}`);
print(grown.length === 0 ? "flat" : "not flat");
process.exit(grown.length === 0 ? 0 : 1);
