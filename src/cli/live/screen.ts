import type { Context } from "../context.ts";
import { cut, printable } from "../render/page.ts";

const ESC = "\u001b[";
/** The alternate screen of the terminal, so that the previous content comes back; no cursor. */
const ENTER = `${ESC}?1049h${ESC}?25l`;
const LEAVE = `${ESC}?25h${ESC}?1049l`;
/** Terminals that support it show all of a frame at once. */
const FRAME_BEGIN = `${ESC}?2026h${ESC}H`;
const FRAME_END = `${ESC}J${ESC}?2026l`;
const LINE_END = `${ESC}K`;

/** A terminal's screen that is overwritten. */
export interface Screen {
  /** Replaces the frame. Lines that do not fit are left out, except the last: the status. */
  draw(lines: readonly string[], status: string): Promise<void>;
  /** Restores the terminal; the frame in `lines` stays there. */
  leave(lines?: readonly string[]): Promise<void>;
}

export async function openScreen({ stdout }: Context): Promise<Screen> {
  await stdout.write(ENTER);
  let isOpen = true;
  return {
    async draw(lines, status) {
      if (!isOpen) return;
      const { rows = 24, columns = 80 } = stdout;
      const shown = lines.slice(0, Math.max(1, rows - 1));
      const frame = [...shown, cut(status, columns)]
        .map((line) => cleanLine(line) + LINE_END)
        .join("\r\n");
      await stdout.write(FRAME_BEGIN + frame + FRAME_END);
    },
    async leave(lines = []) {
      if (!isOpen) return;
      isOpen = false;
      await stdout.write(LEAVE + lines.map((line) => `${cleanLine(line)}\n`).join(""));
    },
  };
}

/** Removes all control characters except our own colours. */
const cleanLine = (line: string): string => printable(line, { colour: true });
