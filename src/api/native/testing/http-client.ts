import type { HttpError } from "../status.ts";

/** Plain HTTP requests to a server of a test. */
export interface Http {
  readonly url: string;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  send(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Its JSON; undefined when it is invalid. */
  readonly json: unknown;
  readonly error: HttpError["error"] | undefined;
}

export function httpClient(address: string): Http {
  const url = `http://${address}`;
  const send: Http["send"] = async (method, path, body, headers = {}) => {
    const isText = typeof body === "string";
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
    });
    return toAnswer(response);
  };
  return { url, send, get: (path, headers) => send("GET", path, undefined, headers) };
}

async function toAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  const { error } = (json ?? {}) as Partial<HttpError>;
  return { status: response.status, headers: response.headers, text, json, error };
}
