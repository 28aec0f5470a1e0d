import { visible } from "../../core/model/texts.ts";

/** The bytes of each output that schedctl shows. */
export const PREVIEW_BYTES = 20;
/** The bytes of an output to look at: the cut may be inside a character. */
export const START_BYTES = PREVIEW_BYTES + 4;

/** The beginning of a text, never cut inside a character. */
export function cutText(text: string, bytesMax: number): string {
  if (text.length <= bytesMax && Buffer.byteLength(text) <= bytesMax) return text.toWellFormed();
  const bytes = Buffer.from(text.slice(0, bytesMax + 1));
  let end = Math.min(bytesMax, bytes.length);
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end).toString();
}

/**
 * The beginning of an output, for a cell of schedctl's table, which prints it unchanged: line ends and tabs become blanks, other control
 * characters become symbols, and invalid bytes U+FFFD.
 */
export function previewOf(output: Uint8Array): string {
  const some = Buffer.from(output.subarray(0, START_BYTES)).toString();
  const line = some.replaceAll(/\r?\n|[\t\v\f]/g, " ").trimEnd();
  return cutText(visible(line, line.length), PREVIEW_BYTES);
}

/** For a cell of a table. */
export const oneLine = (text: string, bytesMax: number): string =>
  cutText(text.replaceAll(/\s+/g, " ").trim(), bytesMax);
