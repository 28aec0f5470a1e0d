import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Running, Site } from "./busbar.ts";
import { whyNotInstalled } from "./debian.ts";

const PROGRAM = "/usr/bin/docker-registry";

/** Installs a registry of images; returns why there is none, undefined when there is. */
export const whyNoRegistry = (): string | undefined =>
  whyNotInstalled({ packages: ["docker-registry"], programs: [PROGRAM] });

const USER = "ada:secret";
/** Of that user, as `htpasswd -B` writes it. */
const PASSWORDS = "ada:$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n";
const INDEX = "application/vnd.oci.image.index.v1+json";
const MANIFEST = "application/vnd.oci.image.manifest.v1+json";

/** A registry of images on loopback, without encryption, for one user with a password. */
export class Registry {
  readonly address: string;
  readonly #running: Running;

  private constructor(address: string, running: Running) {
    this.address = address;
    this.#running = running;
  }

  /** A home directory whose user may use it without encryption, and knows the password or not. */
  writeHome(home: string, { hasPassword }: { readonly hasPassword: boolean }): string {
    const { address } = this;
    const settings = join(home, ".config/containers");
    mkdirSync(settings, { recursive: true });
    const allowed = `[[registry]]\nlocation = "${address}"\ninsecure = true\n`;
    writeFileSync(join(settings, "registries.conf"), allowed);
    const auth = Buffer.from(USER).toString("base64");
    const known = JSON.stringify({ auths: { [address]: { auth } } });
    if (hasPassword) writeFileSync(join(settings, "auth.json"), known);
    return home;
  }

  static async start(site: Site): Promise<Registry> {
    const directory = site.path("registry");
    mkdirSync(directory);
    const file = (name: string): string => join(directory, name);
    writeFileSync(file("passwords"), PASSWORDS);
    const config = {
      version: 0.1,
      storage: { filesystem: { rootdirectory: file("data") } },
      http: { addr: "127.0.0.1:0" },
      auth: { htpasswd: { realm: "test", path: file("passwords") } },
    };
    writeFileSync(file("config.yml"), JSON.stringify(config));
    const running = site.startProgram(["serve", file("config.yml")], { program: PROGRAM });
    return new Registry(await running.prints(/listening on (\S+:\d+)/), running);
  }

  /** Copies an image there; returns its digest. */
  async push(image: string, name: string): Promise<string> {
    const to = `docker://${this.address}/${name}`;
    const args = ["--insecure-policy", "copy", "--quiet", "--dest-tls-verify=false"];
    const { status, stderr } = spawnSync("skopeo", [...args, "--dest-creds", USER, image, to], {
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`skopeo: ${stderr}`);
    const [path, tag] = name.split(":");
    const found = await this.#ask("HEAD", `${path}/manifests/${tag}`);
    return found.headers.get("docker-content-digest") ?? "";
  }

  /** Makes one name of images for several architectures. */
  async pushIndex(name: string, digests: Readonly<Record<string, string>>): Promise<void> {
    const [path, tag] = name.split(":");
    const manifests = await Promise.all(
      Object.entries(digests).map(async ([architecture, digest]) => {
        const found = await this.#ask("GET", `${path}/manifests/${digest}`);
        const { length: size } = await found.text();
        return { mediaType: MANIFEST, digest, size, platform: { architecture, os: "linux" } };
      }),
    );
    const index = JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests });
    const { status } = await this.#ask("PUT", `${path}/manifests/${tag}`, index);
    if (status !== 201) throw new Error(`the registry answered ${status}`);
  }

  /** How often somebody fetched what is under this name, by the registry's own log. */
  fetchesOf(path: string): number {
    return this.#running.output.split(`"GET /v2/${path} `).length - 1;
  }

  async stop(): Promise<void> {
    await this.#running.end("SIGTERM");
  }

  #ask(method: string, path: string, body?: string): Promise<Response> {
    const authorization = `Basic ${Buffer.from(USER).toString("base64")}`;
    const headers = { authorization, accept: MANIFEST, "content-type": INDEX };
    return fetch(`http://${this.address}/v2/${path}`, { method, headers, ...(body && { body }) });
  }
}
