import { invalid } from "../../../lib/errors.ts";

/**
 * The text of a file, without the mark that some editors put first (BOM). A file that is not UTF-8 is rejected: replaced characters would
 * name other files, or change a script.
 */
export function inputText(content: Buffer, flag: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    throw invalid(
      flag,
      `line ${lineOfError(content)} is not UTF-8 text; convert it, e.g. by iconv`,
    );
  }
}

/** The replacement character differs from the bytes that it stands for. */
function lineOfError(content: Buffer): number {
  const again = Buffer.from(content.toString("utf8"));
  let lines = 1;
  for (let at = 0; at < content.length && again[at] === content[at]; at += 1) {
    if (content[at] === 0x0a) lines += 1;
  }
  return lines;
}
