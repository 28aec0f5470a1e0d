import { expect, test } from "vitest";
import { proxyFor } from "./proxy.ts";

const cases: readonly [name: string, host: string, env: Record<string, string>, want?: string][] = [
  ["none is named", "far.example", {}],
  ["http_proxy is used", "far.example", { http_proxy: "http://p:3128" }, "p:3128"],
  ["a scheme may be left out", "far.example", { http_proxy: "p:3128" }, "p:3128"],
  ["grpc_proxy comes first", "far.example", { grpc_proxy: "g:1", http_proxy: "p:2" }, "g:1"],
  ["loopback needs none", "127.0.0.1", { http_proxy: "p:3128" }],
  ["no_proxy names the host", "far.example", { http_proxy: "p:1", no_proxy: "a,far.example" }],
  ["no_proxy names its domain", "a.far.example", { http_proxy: "p:1", no_proxy: ".far.example" }],
  ["no_proxy is not a suffix of names", "nofar", { http_proxy: "p:1", no_proxy: "far" }, "p:1"],
  ["no_proxy may be everything", "far.example", { http_proxy: "p:1", no_proxy: "*" }],
  ["another protocol is not spoken", "far.example", { http_proxy: "socks5://p:1" }],
];
for (const [name, host, env, want] of cases) {
  test(name, () => expect(proxyFor({ host, port: 1 }, env)?.host).toBe(want));
}
