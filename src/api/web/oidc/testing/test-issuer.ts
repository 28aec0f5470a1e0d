import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";

type PrivateKey = Awaited<ReturnType<typeof generateKeyPair>>["privateKey"];

interface Key {
  readonly id: string;
  readonly algorithm: string;
  readonly secret: PrivateKey;
  readonly jwk: JWK;
}

/** An OpenID provider that the test controls, with real keys, over HTTP. */
export class TestIssuer {
  readonly #keys: Key[] = [];
  #server: Server | undefined;
  #port = 0;
  /** Requests for its keys so far. */
  keyRequests = 0;
  /** A description to send instead of its own. */
  described: Readonly<Record<string, unknown>> = {};
  /** Its answer to a code; undefined: 500. */
  tokens: Readonly<Record<string, unknown>> | undefined;
  /** The last request for tokens. */
  asked:
    | { readonly fields: URLSearchParams; readonly authorization: string | undefined }
    | undefined;

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** The first time at any port, then at the same. */
  async open(): Promise<void> {
    const server = createServer((request, response) => {
      void this.#answer(request).then((told) => {
        response.writeHead(told === undefined ? 500 : 200, { "content-type": "application/json" });
        response.end(JSON.stringify(told ?? {}));
      });
    });
    await new Promise<void>((resolve) => void server.listen(this.#port, "127.0.0.1", resolve));
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
    if (this.#keys.length === 0) await this.addKey("RS256");
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    server?.closeAllConnections();
    await new Promise<void>((resolve) =>
      server === undefined ? resolve() : void server.close(() => resolve()),
    );
  }

  /** Signs with it from now on. `replaces`: removes the others. */
  async addKey(algorithm: string, { replaces = false } = {}): Promise<void> {
    const { publicKey, privateKey: secret } = await generateKeyPair(algorithm);
    const id = `key-${Math.random()}`;
    if (replaces) this.#keys.length = 0;
    const jwk = { ...(await exportJWK(publicKey)), kid: id, alg: algorithm, use: "sig" };
    this.#keys.push({ id, algorithm, secret, jwk });
  }

  get publicKeys(): readonly JWK[] {
    return this.#keys.map(({ jwk }) => jwk);
  }

  /** A token with these claims, signed by its newest key. `keyId`: the key that it names. */
  sign(claims: object, keyId?: string): Promise<string> {
    const key = this.#keys.at(-1);
    if (key === undefined) throw new Error("it has no key: open it first");
    const header = { alg: key.algorithm, kid: keyId ?? key.id };
    return new SignJWT({ iss: this.url, ...claims }).setProtectedHeader(header).sign(key.secret);
  }

  async #answer(request: IncomingMessage): Promise<unknown> {
    switch (request.url ?? "") {
      case "/.well-known/openid-configuration":
        return {
          issuer: this.url,
          jwks_uri: `${this.url}/keys`,
          authorization_endpoint: `${this.url}/authorize?kept=1`,
          token_endpoint: `${this.url}/token`,
          ...this.described,
        };
      case "/keys":
        this.keyRequests++;
        return { keys: this.publicKeys };
      default: {
        const chunks: Buffer[] = [];
        for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
        const fields = new URLSearchParams(Buffer.concat(chunks).toString());
        this.asked = { fields, authorization: request.headers.authorization };
        return this.tokens;
      }
    }
  }
}
