import { printableJson } from "../render/page.ts";

/**
 * A JSON value as YAML 1.2 that readers of YAML 1.1 understand too: ambiguous texts (yes, 012, 1:30) are quoted. Texts of several lines
 * become blocks.
 */
export function toYaml(value: unknown): string {
  return `${block(value, "").replace(/^\n/, "")}\n`;
}

/** With the separator after its key: a blank, or a line end. */
function block(value: unknown, indent: string): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return " []";
    return value
      .map((item) => `\n${indent}-${inItem(block(item, `${indent}  `), indent)}`)
      .join("");
  }
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).filter(([, each]) => each !== undefined);
    if (entries.length === 0) return " {}";
    const nested = `${indent}  `;
    return entries
      .map(
        ([key, each]) =>
          `\n${indent}${scalarText(key)}:${block(each, nestedIn(each, indent, nested))}`,
      )
      .join("");
  }
  return ` ${typeof value === "string" ? textOf(value, indent) : String(value)}`;
}

/** Items of a list are below their key without a further indent, as most people write it. */
const nestedIn = (value: unknown, indent: string, nested: string): string =>
  Array.isArray(value) ? indent : nested;

/** The first line of a map is beside the dash. */
const inItem = (text: string, indent: string): string =>
  text.startsWith(`\n${indent}  `) ? ` ${text.slice(indent.length + 3)}` : text;

/** Begins with a letter, and contains nothing that YAML could read as anything but a text. */
const PLAIN = /^[A-Za-z_/.][\w./@%+=,-]*(?: [\w./@%+=,(-][\w./@%+=,()-]*)*$/;
/** YAML 1.1 does not read these as texts, nor numbers like .5, .inf or e0. */
const OTHER =
  /^(?:y|n|yes|no|on|off|true|false|null|nan|~|\.[\d.eE_+-]*|e[-+]?\d+|\.(?:inf|nan))$/i;
/** The lines of a block. */
const BLOCK_LINE =
  /^(?:[\x20-\x7e\u00a1-\u061b\u061d-\u1fff\u3000-\ud7ff]*[\x21-\x7e\u00a1-\u061b\u061d-\u1fff\u3001-\ud7ff])?$/;

const scalarText = (text: string): string =>
  PLAIN.test(text) && !OTHER.test(text) ? text : printableJson(JSON.stringify(text));

function textOf(text: string, indent: string): string {
  const isEnded = text.endsWith("\n");
  const lines = (isEnded ? text.slice(0, -1) : text).split("\n");
  const [first = "", last = ""] = [lines[0], lines.at(-1)];
  // A first line that is empty or indented would need an indentation indicator; such a text is quoted.
  const isBlock =
    text.includes("\n") &&
    /^\S/.test(first) &&
    last !== "" &&
    lines.every((each) => BLOCK_LINE.test(each));
  if (!isBlock) return scalarText(text);
  const inner = indent === "" ? "  " : indent;
  return `${isEnded ? "|" : "|-"}\n${lines.map((each) => (each === "" ? "" : inner + each)).join("\n")}`;
}
