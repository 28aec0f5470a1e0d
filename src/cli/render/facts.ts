import type { FactEntry, NodeFacts } from "../../core/model/node/node-facts.ts";
import { formatBytes } from "../../lib/units.ts";
import { clean, displayWidth, pad, type TerminalPage, paint } from "./page.ts";
import { renderFields } from "./table.ts";
import { pairs } from "./values.ts";

/** One machine: amounts, then properties. */
export function renderMachine(name: string, facts: NodeFacts, page: TerminalPage): string {
  const fields = renderFields(
    [
      ["Node", name],
      ["Cores", String(facts.cores)],
      ...partFields(facts),
      ["Memory", facts.memoryBytes === 0 ? "" : formatBytes(facts.memoryBytes)],
      ["Gpus", facts.gpus === 0 ? "" : String(facts.gpus)],
      ["Others", pairs(mapText(facts.others))],
    ],
    page,
  );
  return [fields, renderSoftware(facts, page)].filter((part) => part !== "").join("\n\n");
}

/** Facts that the capacity of a node does not show. */
export const partFields = ({ sockets, numa }: NodeFacts): readonly [string, string][] => [
  ["Sockets", sockets === 0 ? "" : String(sockets)],
  ["Memory domains", numa === 0 ? "" : String(numa)],
];

const mapText = (amounts: NodeFacts["others"]): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, String(amount)]));

/** Without a terminal lines have a comfortable length. */
const WIDTH_DEFAULT = 100;
const WIDTH_MIN = 40;

/** One block for each subsystem, its name on the left. */
export function renderSoftware({ software }: NodeFacts, page: TerminalPage): string {
  const names = Object.keys(software);
  const left = names.reduce((most, name) => Math.max(most, displayWidth(name)), 0) + 2;
  const width = Math.max(WIDTH_MIN, page.width ?? WIDTH_DEFAULT) - left;
  return names
    .flatMap((name) =>
      linesOf(software[name] ?? [], width).map((line, at) => {
        const head = pad(at === 0 ? clean(name) : "", left, "left");
        return `${paint(head, "bold", page)}${line}`;
      }),
    )
    .join("\n");
}

/** Entries with more fields get a line each; names with versions, and single words, share lines. */
function linesOf(entries: readonly FactEntry[], width: number): readonly string[] {
  const lines: string[] = [];
  const plain: string[] = [];
  const words = new Map<string, string[]>();
  for (const { name, version, ...rest } of entries) {
    const title = [name, version].filter((part) => part !== undefined).join(" ");
    const [only, ...others] = Object.entries(rest);
    if (only === undefined) plain.push(clean(title));
    else if (title === "" && others.length === 0) {
      words.set(only[0], [...(words.get(only[0]) ?? []), clean(String(only[1]))]);
    } else {
      const more = Object.entries(rest).map(([field, value]) => `${field}=${value}`);
      lines.push(clean(title === "" ? more.join(", ") : `${title} (${more.join(", ")})`));
    }
  }
  const lists = [...words].flatMap(([field, list]) => wrap([`${clean(field)}:`, ...list], width));
  return [...lines, ...wrap(plain.map(withComma), width), ...lists];
}

const withComma = (word: string, at: number, all: readonly string[]): string =>
  at === all.length - 1 ? word : `${word},`;

function wrap(words: readonly string[], width: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of words) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line === "" || displayWidth(longer) <= width) line = longer;
    else {
      lines.push(line);
      line = word;
    }
  }
  return line === "" ? lines : [...lines, line];
}
