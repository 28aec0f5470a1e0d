import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** The root of the package that holds this folder: code runs from src, or from one directory of compiled files. */
export function packageRoot(from: string): string {
  return from === "/" || existsSync(join(from, "package.json")) ? from : packageRoot(dirname(from));
}
