import { AppError } from "../../lib/errors.ts";

/** The error for an address that cannot be listened on; `flag` chooses another one. */
export function toListenError(error: unknown, address: string, flag: string): AppError {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return new AppError("unavailable", `${address} ${whyNot(code)}; choose another with ${flag}`, {
    cause: error,
  });
}

function whyNot(code: unknown): string {
  switch (code) {
    case "EADDRINUSE":
      return "is taken by another program";
    case "EACCES":
      return "may not be listened on by this user";
    case "EADDRNOTAVAIL":
      return "is not an address of this machine";
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return "has a host name that cannot be resolved";
    default:
      return "cannot be listened on";
  }
}
