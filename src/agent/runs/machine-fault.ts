import { constants } from "node:os";
import { getSystemErrorMessage } from "node:util";

const { errno } = constants;

/** A machine in this state can start no process at all: by errno of the system call. */
const MACHINE_FAULTS: Readonly<Record<number, string>> = {
  [errno.EAGAIN]: "this machine allows no more processes",
  [errno.ENOMEM]: "this machine has no memory left",
  [errno.EMFILE]: "this process may open no more files",
  [errno.ENFILE]: "this machine can open no more files",
  [errno.ENOSPC]: "the disk is full",
  [errno.EDQUOT]: "the disk quota is used up",
  [errno.EROFS]: "the disk is read-only",
  [errno.EIO]: "the disk fails",
  [errno.ESTALE]: "the file system is no longer mounted",
};

export const isMachineFault = (number: number): boolean => number in MACHINE_FAULTS;

/** Why the machine can start no process, from the errno of one of our own calls. */
export function describeMachineFault(number: number, directory?: string): string {
  const where = directory === undefined ? "" : `: ${directory}`;
  if (number === errno.ENOENT) return `the data directory is missing${where}`;
  if (number === errno.EACCES || number === errno.EPERM) {
    return `the data directory cannot be written${where}`;
  }
  const known = MACHINE_FAULTS[number] ?? getSystemErrorMessage(-number) ?? `error ${number}`;
  return isOfDisk(number) ? `${known}${where}` : known;
}

const isOfDisk = (number: number): boolean =>
  [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE].includes(number);

/** The errno of an error that Node throws or emits for a system call; undefined: another kind of error. */
export function errnoOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errno" in error)) return undefined;
  return typeof error.errno === "number" ? Math.abs(error.errno) : undefined;
}

/** A failed call of our own, in words for people. */
export function describeOwnFault(error: unknown, directory: string): string {
  const number = errnoOf(error) ?? errnoOf(error instanceof Error ? error.cause : undefined);
  if (number !== undefined) return describeMachineFault(number, directory);
  return error instanceof Error ? error.message : String(error);
}
