import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { Site } from "../support/busbar.ts";

// A real OpenID provider, with its own login pages, and a real server that knows only its address.
const REDIRECT = "http://localhost:9/callback"; // the address of a proxy in front of the gateway
const RESOURCE = "urn:nexus";
const JOBS = "/v1alpha1/job-groups/g/job-requests";

const ARTIFACTS = [
  "AccessToken",
  "ClientCredentials",
  "Grant",
  "IdToken",
  "Interaction",
  "Session",
];

let site: Site;
let http: Server;
let issuer = "";
let gateway = "";

const clientOf = (id: string) => ({
  client_id: id,
  client_secret: `secret-of-${id}`,
  redirect_uris: [REDIRECT],
  grant_types: ["authorization_code", "client_credentials"],
  response_types: ["code"],
});

async function openProvider(): Promise<void> {
  http = createServer();
  await new Promise<void>((resolve) => void http.listen(0, "127.0.0.1", resolve));
  issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [clientOf("busbar"), clientOf("other")],
    cookies: { keys: ["for tests"] },
    ttl: Object.fromEntries(ARTIFACTS.map((name) => [name, 600])),
    findAccount: (_: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
    features: {
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => RESOURCE,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: "",
          audience: RESOURCE,
          accessTokenFormat: "jwt",
        }),
      },
    },
  });
  http.on("request", provider.callback());
}

const startGateway = async (clientId: string): Promise<string> => {
  const oidc = site.path(`oidc-${clientId}.json`);
  writeFileSync(site.path(`${clientId}-secret`), `secret-of-${clientId}\n`, { mode: 0o600 });
  const settings = {
    issuer,
    clientId,
    clientSecretFile: `${clientId}-secret`,
    redirectUrl: REDIRECT,
  };
  writeFileSync(oidc, JSON.stringify(settings));
  const running = await site.startServer(
    "--nexus",
    "127.0.0.1:0",
    "--nexus-rest",
    "127.0.0.1:0",
    "--nexus-rest-oidc",
    oidc,
  );
  return running.prints(/Nexus REST:\s+(http:\/\/[\d.]+:\d+)/);
};

beforeAll(async () => {
  site = new Site();
  await openProvider();
  gateway = await startGateway("busbar");
}, 120_000);
afterAll(async () => {
  await site.close();
  http.closeAllConnections();
  await new Promise((resolve) => void http.close(resolve));
});

/** Stores cookies for each server, and follows redirects. */
class Browser {
  readonly #cookies = new Map<string, Map<string, string>>();

  async get(url: string): Promise<Response> {
    return this.#follow(await this.#send(url, {}), url);
  }

  async post(url: string, fields: Record<string, string>): Promise<Response> {
    const init = { method: "POST", body: new URLSearchParams(fields) };
    return this.#follow(await this.#send(url, init), url);
  }

  cookiesOf(url: string): ReadonlyMap<string, string> {
    return this.#cookies.get(new URL(url).host) ?? new Map();
  }

  async #follow(response: Response, from: string): Promise<Response> {
    const location = response.headers.get("location");
    if (location === null) return response;
    const to = new URL(location, from).href.replace("http://localhost:9", gateway);
    return this.#follow(await this.#send(to, {}), to);
  }

  async #send(url: string, init: RequestInit): Promise<Response> {
    const { host } = new URL(url);
    const kept = this.#cookies.get(host) ?? new Map<string, string>();
    this.#cookies.set(host, kept);
    const cookie = [...kept].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { accept: "text/html", cookie };
    const response = await fetch(url, { ...init, redirect: "manual", headers });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ""] = line.split(";");
      const [name = "", ...value] = pair.split("=");
      if (/max-age=0/i.test(line) || value.join("=") === "") kept.delete(name);
      else kept.set(name, value.join("="));
    }
    return response;
  }
}

/** Fills in the provider's forms, one after another, as alice. */
async function logIn(browser: Browser, path: string): Promise<Response> {
  let page = await browser.get(gateway + path);
  for (let form = 0; form < 3; form++) {
    const text = await page.clone().text();
    const [, action] = /<form[^>]*action="([^"]+)"/.exec(text) ?? [];
    const [, prompt] = /name="prompt" value="([^"]+)"/.exec(text) ?? [];
    if (action === undefined || prompt === undefined) break;
    const to = new URL(action, issuer).href;
    page = await browser.post(to, { prompt, login: "alice", password: "any" });
  }
  return page;
}

test("a browser is redirected to the provider, logs in, and returns to the requested page", async () => {
  const browser = new Browser();
  const page = await logIn(browser, "/v1alpha1/job-groups?limit=5");
  expect([page.status, await page.json()]).toEqual([200, []]);
  expect(browser.cookiesOf(gateway).get("access_token")?.split(".").length).toBe(3);
  expect(browser.cookiesOf(gateway).has("login")).toBe(false);
  const docs = await browser.get(`${gateway}/intel.com/docs`);
  expect(docs.status).toBe(200);
  await browser.get(`${gateway}/logout`);
  expect(browser.cookiesOf(gateway).has("access_token")).toBe(false);
});

const tokenOf = async (client: string): Promise<string> => {
  const basic = Buffer.from(`${client}:secret-of-${client}`).toString("base64");
  const answer = await fetch(`${issuer}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  return ((await answer.json()) as { access_token: string }).access_token;
};

test("a program sends its token, and its jobs have its name", async () => {
  const put = (token: string) =>
    fetch(`${gateway}${JOBS}/job-1`, {
      method: "PUT",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ jobId: 1, powerNeeded: 300 }),
    });
  const other = await put(await tokenOf("other"));
  expect(other.status).toBe(401);
  expect(other.headers.get("www-authenticate")).toContain("not made for the client busbar");
  expect((await put(await tokenOf("busbar"))).status).toBe(201);
  const job = await eventually(async () => (await site.client.listJobs({})).jobs[0], {
    what: "the job",
  });
  expect(job.submittedBy).toBe("user:busbar");
});
