/** The target of rendered text. Rendering is pure: the same rows on the same page look the same. */
export interface TerminalPage {
  /** Columns of the terminal; undefined: unlimited. */
  readonly width: number | undefined;
  readonly colour: boolean;
  /** With the columns that only few people need. */
  readonly isWide?: boolean;
  readonly nowMs: number;
}

export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

const ESCAPE = "\u001b";
const CODES: Readonly<Record<Style, readonly [number, number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
};

export function paint(text: string, style: Style | undefined, page: TerminalPage): string {
  if (!page.colour || style === undefined || text === "") return text;
  const [on, off] = CODES[style];
  return `${ESCAPE}[${on}m${text}${ESCAPE}[${off}m`;
}

/** Names come from other people: control characters that could move a cursor or hide a line must not reach the terminal. */
export const clean = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character === "\t" || character === "\n" ? " " : "\u{fffd}",
  );

const OWN_STYLES = new RegExp(
  `${ESCAPE}\\[(?:${[...new Set(Object.values(CODES).flat())].join("|")})m`,
  "g",
);

/**
 * Filters a whole text for a terminal or pipe, wherever its parts came from: of its control characters only line ends and our own colours
 * stay.
 */
export function printable(text: string, { colour }: Pick<TerminalPage, "colour">): string {
  const cleanLines = (part: string): string => part.replace(/[^\n\t]+/g, (line) => clean(line));
  if (!colour) return cleanLines(text);
  const styles = text.match(OWN_STYLES) ?? [];
  return text
    .split(OWN_STYLES)
    .map((part, at) => cleanLines(part) + (styles[at] ?? ""))
    .join("");
}

/** JSON does not escape these, and some terminals interpret them: escaped they mean the same. */
export const printableJson = (json: string): string =>
  json.replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** Characters of East Asian scripts and most emoji take two columns. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

const widthOf = (character: string): number =>
  /\p{Mn}/u.test(character) ? 0 : WIDE.test(character) ? 2 : 1;

export function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += widthOf(character);
  return width;
}

/** At most `width` columns; "…" marks a cut. */
export function cut(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let kept = "";
  let used = 1;
  for (const character of text) {
    used += widthOf(character);
    if (used > width) break;
    kept += character;
  }
  return `${kept}…`;
}

export const pad = (text: string, width: number, align: "left" | "right"): string => {
  const space = " ".repeat(Math.max(0, width - displayWidth(text)));
  return align === "left" ? text + space : space + text;
};
