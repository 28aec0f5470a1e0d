import { type Address, isLoopback } from "../../lib/address.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The proxy that the environment names for this address, by the rules of gRPC clients. */
export function proxyFor({ host }: Address, env: Environment): URL | undefined {
  if (isLoopback(host)) return undefined;
  const text = env["grpc_proxy"] ?? env["https_proxy"] ?? env["http_proxy"] ?? "";
  if (text === "" || isExempt(host, env["no_grpc_proxy"] ?? env["no_proxy"] ?? ""))
    return undefined;
  const url = URL.parse(text.includes("://") ? text : `http://${text}`);
  return url?.protocol === "http:" ? url : undefined;
}

/** Whether `list` ("*", "example.org,.internal") contains the host or one of its domains. */
function isExempt(host: string, list: string): boolean {
  const names = list.split(",").map((name) => name.trim().replace(/^\*?\./, ""));
  return names.some(
    (name) => name === "*" || (name !== "" && (host === name || host.endsWith(`.${name}`))),
  );
}
