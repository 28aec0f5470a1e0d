import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Page } from "../operations/operations.ts";

/** The page size asked for, checked. */
export function pageSizeOf({ pageSize }: Page): number {
  const size = pageSize ?? limits.pageSizeDefault;
  if (!Number.isInteger(size) || size < 1 || size > limits.pageSizeMax) {
    throw invalid(
      "pageSize",
      `must be a whole number from 1 to ${limits.pageSizeMax}, not ${size}`,
    );
  }
  return size;
}

/** Tokens are opaque to callers: the place to go on from, marked by what is listed. */
export const toPageToken = (kind: string, place: string): string =>
  Buffer.from(`${kind}:${place}`).toString("base64url");

export function fromPageToken(kind: string, { pageToken }: Page): string | undefined {
  if (pageToken === undefined) return undefined;
  const text = Buffer.from(pageToken, "base64url").toString("utf8");
  if (!text.startsWith(`${kind}:`)) {
    throw invalid("pageToken", "is not one from an earlier answer to this call");
  }
  return text.slice(kind.length + 1);
}

export function numberFromPageToken(kind: string, page: Page): number | undefined {
  const place = fromPageToken(kind, page);
  if (place === undefined) return undefined;
  if (!/^\d{1,15}$/.test(place)) {
    throw invalid("pageToken", "is not one from an earlier answer to this call");
  }
  return Number(place);
}
