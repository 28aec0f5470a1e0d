import { constants } from "node:os";

/** The signal with which a container is stopped. */
export interface ContainerStop {
  readonly number: number;
  /** A text for people: the image names a signal that does not exist. */
  readonly note: string | undefined;
}

const NUMBERS: ReadonlyMap<string, number> = new Map([
  ...Object.entries(constants.signals),
  ["SIGCLD", constants.signals.SIGCHLD],
]);

/** Of programs: the C library keeps the two before for itself. */
const RTMIN = 34;
const RTMAX = 64;

/** `wanted`: the StopSignal of an image; undefined: it names none. */
export function stopSignalOf(wanted: string | undefined): ContainerStop {
  const { SIGTERM } = constants.signals;
  if (wanted === undefined || wanted === "") return { number: SIGTERM, note: undefined };
  const number = parseSignal(wanted);
  if (number !== undefined) return { number, note: undefined };
  const note = `the image's stop signal ${JSON.stringify(wanted)} is no signal, so it gets SIGTERM; write SIGQUIT, QUIT, SIGRTMIN+3 or 3 in the image`;
  return { number: SIGTERM, note };
}

/** As Docker reads it: "SIGQUIT", "quit", "3", "SIGRTMIN+3", "RTMAX-1". undefined: there is no such signal. */
function parseSignal(text: string): number | undefined {
  const name = text.toUpperCase().replace(/^(?:SIG)?/, "SIG");
  const [, digits] = /^(\d{1,2})$/.exec(text) ?? [];
  const [, end, by = "0"] = /^SIGRT(MIN(?=[+]|$)|MAX(?=-|$))[+-]?(\d{1,2})?$/.exec(name) ?? [];
  if (digits !== undefined) return within(1, Number(digits));
  if (end !== undefined)
    return within(RTMIN, end === "MIN" ? RTMIN + Number(by) : RTMAX - Number(by));
  return NUMBERS.get(name);
}

const within = (min: number, number: number): number | undefined =>
  number >= min && number <= RTMAX ? number : undefined;
