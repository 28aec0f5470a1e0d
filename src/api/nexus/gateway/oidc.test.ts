import { createHmac } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../../testing/eventually.ts";
import { FakeClock } from "../../../testing/fake-clock.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { createTraffic } from "../../grpc/traffic.ts";
import type { HttpListener } from "../../web/http-listener.ts";
import { OidcGuard } from "../../web/oidc/guard.ts";
import { parseOidcSettings } from "../../web/oidc/settings.ts";
import { TestIssuer } from "../../web/oidc/testing/test-issuer.ts";
import { aNexusBed } from "../testing/nexus-bed.ts";
import { createNexusGateway } from "./gateway.ts";

const NOW_S = 2_000_000_000;
const GROUPS = "/v1alpha1/job-groups";
const ORIGIN = "https://console.example.com";

let bed: Awaited<ReturnType<typeof aNexusBed>>;
let issuer: TestIssuer;
let clock: FakeClock;
const gateways: HttpListener[] = [];
beforeEach(async () => {
  bed = await aNexusBed();
  issuer = new TestIssuer();
  clock = new FakeClock(NOW_S * 1_000);
  await issuer.open();
});
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.close();
  await bed.close();
  await issuer.close();
});

type Send = (
  path: string,
  headers?: Record<string, string>,
  init?: RequestInit,
) => Promise<Response>;

/** A gateway that requires tokens of the issuer. */
async function serve(more: object = {}, cooldownMs = 0): Promise<Send> {
  const redirectUrl = "https://gw.example.com/callback";
  const file = { issuer: issuer.url, clientId: "busbar", redirectUrl, ...more };
  const settings = parseOidcSettings(JSON.stringify(file), "--nexus-rest-oidc");
  const shared = { clock, logger: silentLogger, cooldownMs, home: "/intel.com/docs" };
  const gateway = await createNexusGateway({
    operations: bed.plane.operations,
    address: "127.0.0.1:0",
    origins: [ORIGIN],
    routes: bed.routes,
    guard: new OidcGuard({ settings, clientSecret: "a-secret", ...shared }),
    logger: silentLogger,
    traffic: createTraffic(),
    drainMs: 100,
  });
  gateways.push(gateway);
  return (path, headers = {}, init = {}) =>
    fetch(`http://${gateway.address}${path}`, { redirect: "manual", ...init, headers });
}

const CLAIMS = { sub: "alice", cid: "busbar", exp: NOW_S + 600 };
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const tokenOf = (claims: object = {}): Promise<string> => issuer.sign({ ...CLAIMS, ...claims });

describe("a token", () => {
  test("is read from the header or the cookie, and its user owns the jobs", async () => {
    const send = await serve();
    const token = await tokenOf();
    const path = `${GROUPS}/g/job-requests/job-1`;
    const body = JSON.stringify({ jobId: 1, powerNeeded: 300 });
    const type = { "content-type": "application/json" };
    const made = await send(path, { ...bearer(token), ...type }, { method: "PUT", body });
    expect(made.status).toBe(201);
    expect((await send(GROUPS, { cookie: `a=b; access_token=${token}; c=d` })).status).toBe(200);
    const job = await eventually(
      async () => (await bed.plane.operations.listJobs({}, {})).jobs[0],
      { what: "the job" },
    );
    expect(job.submittedBy).toBe("user:alice");
  });

  test.for([
    ["a client_id", { cid: undefined, client_id: "busbar" }],
    ["an azp", { cid: undefined, azp: "busbar" }],
    ["the client as its audience", { cid: undefined, aud: ["x", "busbar"] }],
    ["an end a moment ago", { exp: NOW_S - 50 }],
    ["a beginning in a moment", { nbf: NOW_S + 50 }],
  ] as const)("with %s is accepted", async ([, claims]) => {
    const send = await serve();
    expect((await send(GROUPS, bearer(await tokenOf(claims)))).status).toBe(200);
  });

  test.for([
    ["that has expired", { exp: NOW_S - 70 }, "the token has expired"],
    ["that never expires", { exp: undefined }, "the token's claim exp is missing"],
    ["of the future", { nbf: NOW_S + 70 }, "the token's claim nbf is wrong"],
    ["of another issuer", { iss: "https://other" }, "the token's claim iss is wrong"],
    ["of another client", { cid: "x" }, "the token was not made for the client busbar"],
    ["of two clients", { azp: "x" }, "the token was not made for the client busbar"],
    ["of no client", { cid: undefined }, "the token was not made for the client busbar"],
    ["of nobody", { sub: undefined }, "the token's claim sub is not a name"],
    ["of a name with controls", { sub: "a\u0007" }, "the token's claim sub is not a name"],
    ["that tells of a logout", { events: {} }, "the token is not an access token"],
  ] as const)("%s is rejected with 401, and the reason", async ([, claims, why]) => {
    const send = await serve();
    const answer = await send(GROUPS, bearer(await tokenOf(claims)));
    expect([answer.status, await answer.json()]).toEqual([401, { message: why }]);
    expect(answer.headers.get("www-authenticate")).toBe(
      `Bearer realm="nexus", error="invalid_token", error_description="${why}"`,
    );
  });

  test("without a signature, or with that of another issuer, is rejected", async () => {
    const send = await serve();
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const [jwk] = issuer.publicKeys;
    const claims = part({ iss: issuer.url, ...CLAIMS });
    const unsigned = `${part({ alg: "none" })}.${claims}.`;
    const symmetric = `${part({ alg: "HS256", kid: jwk?.kid })}.${claims}`;
    const mac = createHmac("sha256", JSON.stringify(jwk)).update(symmetric).digest("base64url");
    const other = new TestIssuer();
    await other.open();
    const forged = await other.sign({ ...CLAIMS, iss: issuer.url }, jwk?.kid);
    await other.close();
    const cut = (await tokenOf()).slice(0, -4);
    for (const token of [unsigned, `${symmetric}.${mac}`, forged, cut, "x", "x".repeat(20_000)]) {
      const answer = await send(GROUPS, bearer(token)).catch(() => undefined);
      expect([401, 431]).toContain(answer?.status); // the last is too long for Node's headers
    }
    expect((await send(GROUPS, { authorization: "Basic YTpi" })).status).toBe(401);
  });

  test("must be for the audience, and have the claims, that the settings name", async () => {
    const send = await serve({
      audience: "urn:gw",
      claims: { groups: "operators", tenant: "t1" },
      userClaim: "email",
    });
    const fine = { aud: "urn:gw", groups: ["a", "operators"], tenant: "t1", email: "a@b.c" };
    const status = async (claims: object) =>
      (await send(GROUPS, bearer(await tokenOf(claims)))).status;
    expect(await status(fine)).toBe(200);
    for (const lacking of [{ aud: "x" }, { groups: ["a"] }, { tenant: undefined }, { email: "" }]) {
      expect(await status({ ...fine, ...lacking })).toBe(401);
    }
  });
});

describe("the provider", () => {
  test("may change its keys, and unknown keys are requested once in a while", async () => {
    const send = await serve({}, 60_000);
    expect((await send(GROUPS, bearer(await tokenOf()))).status).toBe(200);
    const stray = await issuer.sign(CLAIMS, "no-such-key");
    for (let at = 0; at < 5; at++) expect((await send(GROUPS, bearer(stray))).status).toBe(401);
    expect(issuer.keyRequests).toBeLessThanOrEqual(2);
    const quick = await serve();
    for (const algorithm of ["ES256", "EdDSA", "PS256"]) {
      await issuer.addKey(algorithm, { replaces: true });
      expect((await quick(GROUPS, bearer(await tokenOf()))).status).toBe(200);
    }
  });

  test("that does not answer closes the gateway with 503, until it answers", async () => {
    const token = await tokenOf();
    await issuer.close();
    const send = await serve();
    const closed = await send(GROUPS, bearer(token));
    expect([closed.status, await closed.json()]).toEqual([
      503,
      { message: `the OpenID provider ${issuer.url} does not answer; try again soon` },
    ]);
    expect((await send(GROUPS, { accept: "text/html" })).status).toBe(503);
    await issuer.open();
    expect((await send(GROUPS, bearer(token))).status).toBe(200);
  });

  test("with another issuer name is rejected", async () => {
    issuer.described = { issuer: "https://evil.example.com" };
    const send = await serve();
    expect((await send(GROUPS, bearer(await tokenOf()))).status).toBe(503);
  });
});

test("settings are not objects of the tree: a writer of the tree does not decide about access", async () => {
  const send = await serve();
  const token = bearer(await tokenOf());
  for (const path of [
    "authentication.admin.nexus.com/v1/oidcs",
    "domain.nexus.com/v1/corsconfigs",
  ]) {
    expect((await send(`/apis/${path}`, token)).status).toBe(404);
  }
});

test("without a token programs get 401, browsers go to the provider; health and preflights are open", async () => {
  const send = await serve();
  const plain = await send(GROUPS);
  expect([plain.status, plain.headers.get("www-authenticate")]).toEqual([
    401,
    'Bearer realm="nexus"',
  ]);
  for (const path of ["/apis", "/openapi/v3", "/metrics", "/intel.com/docs", "/nothing"]) {
    expect((await send(path)).status).toBe(401);
  }
  expect((await send(GROUPS, { accept: "text/html" }, { method: "POST" })).status).toBe(401);
  expect((await send("/healthz")).status).toBe(200);
  const preflight = await send(GROUPS, { origin: ORIGIN }, { method: "OPTIONS" });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get("access-control-allow-headers")).toContain("authorization");

  const sent = await send(`${GROUPS}?limit=5`, { accept: "text/html,*/*" });
  expect(sent.status).toBe(307);
  const to = new URL(sent.headers.get("location") ?? "");
  expect(to.origin + to.pathname).toBe(`${issuer.url}/authorize`);
  expect(Object.fromEntries(to.searchParams)).toMatchObject({
    kept: "1",
    response_type: "code",
    client_id: "busbar",
    redirect_uri: "https://gw.example.com/callback",
    scope: "openid",
    code_challenge_method: "S256",
  });
  expect(sent.headers.getSetCookie().join()).toMatch(
    /^login=[\w-]+; Path=\/callback; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
  );
});

describe("a login", () => {
  async function begin(send: Send) {
    const sent = await send(`${GROUPS}?limit=5`, { accept: "text/html" });
    const { searchParams } = new URL(sent.headers.get("location") ?? "");
    const [cookie = ""] = sent.headers.getSetCookie().join().split(";");
    const [state, nonce] = [searchParams.get("state") ?? "", searchParams.get("nonce") ?? ""];
    const back = (query: string, with_ = cookie) => send(`/callback?${query}`, { cookie: with_ });
    return { state, nonce, back };
  }
  const messageOf = async (answer: Response) =>
    ((await answer.json()) as { message: string }).message;

  test("ends with the token in a cookie, at the page that the browser requested", async () => {
    const send = await serve();
    const { state, nonce, back } = await begin(send);
    const token = await tokenOf();
    issuer.tokens = { access_token: token, id_token: await issuer.sign({ ...CLAIMS, nonce }) };
    const done = await back(`code=c1&state=${state}`);
    expect([done.status, done.headers.get("location")]).toEqual([307, `${GROUPS}?limit=5`]);
    expect(done.headers.getSetCookie()[0]).toBe(
      `access_token=${token}; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure`,
    );
    expect(Object.fromEntries(issuer.asked?.fields ?? [])).toMatchObject({
      grant_type: "authorization_code",
      code: "c1",
      redirect_uri: "https://gw.example.com/callback",
    });
    expect(issuer.asked?.fields.get("code_verifier")).toMatch(/^[\w-]{43}$/);
    expect(issuer.asked?.authorization).toBe(
      `Basic ${Buffer.from("busbar:a-secret").toString("base64")}`,
    );
    const out = await send("/logout", { cookie: `access_token=${token}` });
    expect(out.headers.getSetCookie().join()).toContain("access_token=; Path=/; Max-Age=0");
  });

  test("stores the ID token where the access token is only for the provider", async () => {
    const { state, nonce, back } = await begin(await serve());
    const id = await issuer.sign({ ...CLAIMS, cid: undefined, aud: "busbar", nonce });
    issuer.tokens = { access_token: "opaque", id_token: id };
    const done = await back(`code=c1&state=${state}`);
    expect(done.headers.getSetCookie()[0]).toContain(`access_token=${id};`);
  });

  test("is rejected when another browser began it, it took too long, or the provider rejects it", async () => {
    const { state, nonce, back } = await begin(await serve());
    const id_token = await issuer.sign({ ...CLAIMS, nonce: "another" });
    issuer.tokens = { access_token: await tokenOf(), id_token };
    const other = await back(`code=c1&state=${state}`);
    expect([other.status, await messageOf(other)]).toEqual([
      401,
      "the ID token belongs to another login: start again",
    ]);
    expect((await back("code=c1&state=x")).status).toBe(401);
    expect((await back(`code=c1&state=${state}`, "login=AAAA")).status).toBe(401);
    expect((await back(`code=c1&state=${state}`, "")).status).toBe(401);
    const no = await back(`error=access_denied&error_description=not%20you&state=${state}`);
    expect(await messageOf(no)).toBe("the OpenID provider refused: not you");
    issuer.tokens = { id_token: await issuer.sign({ ...CLAIMS, sub: undefined, nonce }) };
    expect((await back(`code=c1&state=${state}`)).status).toBe(401);
    issuer.tokens = undefined;
    expect((await back(`code=c1&state=${state}`)).status).toBe(503);
    clock.advance(601_000);
    expect(await messageOf(await back(`code=c1&state=${state}`))).toContain("took too long");
  });
});

describe("settings", () => {
  const fine = { issuer: "https://id", clientId: "c", redirectUrl: "https://gw/callback" };
  test.for([
    [{ ...fine, issuer: undefined }, "--f: issuer: is missing"],
    [{ ...fine, issuer: "http://id.example.com" }, '--f: issuer: "http://id.example.com" is not'],
    [{ ...fine, clientId: 5 }, "--f: clientId: must be a text"],
    [{ ...fine, secret: "x" }, "--f: secret: is not known; there are issuer, clientId"],
    [{ ...fine, scopes: ["a b"] }, "--f: scopes: must be a list of texts without spaces"],
    [{ ...fine, claims: { a: 1 } }, "--f: claims: must be an object whose values are texts"],
    ["x", "--f: must be a JSON object"],
  ] as const)("that are wrong are rejected by name: %j", ([settings, problem]) => {
    expect(() => parseOidcSettings(JSON.stringify(settings), "--f")).toThrow(problem);
  });
});
