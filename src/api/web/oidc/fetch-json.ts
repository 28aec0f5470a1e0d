import { limits } from "../../../limits.ts";

/** Like fetch, with a limit of bytes and time. A larger or later answer is an error. */
export async function fetchBounded(url: string, init: RequestInit = {}): Promise<Response> {
  const signal = AbortSignal.timeout(limits.oidcAnswerMsMax);
  const response = await fetch(url, { ...init, redirect: "error", signal });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > limits.oidcAnswerBytesMax) throw new Error(`${url} answers too much`);
    chunks.push(chunk);
  }
  return new Response(Buffer.concat(chunks), { status: response.status });
}

export async function fetchJson(
  url: string,
  init?: RequestInit,
): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetchBounded(url, init);
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  const value: unknown = await response.json();
  if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  throw new Error(`${url} answers no JSON object`);
}
