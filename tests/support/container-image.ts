import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";

import { containerFactsHere } from "../../src/agent/executors/oci/facts-here.ts";
import { CONTAINERS, containerVerdict } from "../../src/core/model/node/container-facts.ts";
import { BUSYBOX, whyNoBusybox } from "./busybox.ts";
import { whyNotInstalled } from "./debian.ts";

/** Installs the programs for containers; returns why they are not available, undefined when they are. */
export const whyNoContainerPrograms = (): string | undefined =>
  whyNoBusybox() ??
  whyNotInstalled({
    packages: ["runc", "skopeo", "umoci"],
    programs: ["/usr/sbin/runc", "/usr/bin/skopeo", "/usr/bin/umoci"],
  });

/** Why this machine cannot start containers, though it has the programs, as an agent finds it out. */
export async function whyNoContainers(): Promise<string | undefined> {
  const missing = whyNoContainerPrograms();
  if (missing !== undefined) return missing;
  const isStatic = !spawnSync("ldd", [BUSYBOX], { encoding: "utf8" }).stdout.includes("=>");
  if (!isStatic) return `${BUSYBOX} is not static: install busybox-static`;
  const verdict = containerVerdict({
    software: { [CONTAINERS]: await containerFactsHere(process.env) },
  });
  return verdict.kind === "can" ? undefined : verdict.why;
}

export interface ImageOptions {
  readonly tag?: string;
  /** Its own command; default: none. */
  readonly command?: readonly string[];
  readonly env?: readonly string[];
  /** Files by path, beside busybox and its programs in /bin. */
  readonly files?: Readonly<Record<string, string>>;
  readonly user?: string;
  /** Links to these paths. */
  readonly links?: Readonly<Record<string, string>>;
  /** More layers, as they are: archives, or compressed archives. */
  readonly layers?: readonly Uint8Array[];
  /** Fields of the image's configuration beside those above. */
  readonly config?: Readonly<Record<string, unknown>>;
}

const PROGRAMS = ["sh", "cat", "echo", "env", "hostname", "id", "ls", "printf", "sleep", "touch"];
const MORE = [
  "true",
  "false",
  "head",
  "tail",
  "dd",
  "kill",
  "ps",
  "ip",
  "mount",
  "pwd",
  "trap",
  "wc",
];

/** Writes an OCI layout with one image, whose first layer contains only busybox. */
export function writeImageLayout(directory: string, options: ImageOptions = {}): string {
  const { tag = "v1", command, env = [], files = {}, links = {}, user, layers = [] } = options;
  const folder = join(directory, "blobs/sha256");
  mkdirSync(folder, { recursive: true });
  const put = (content: Uint8Array) => {
    const digest = digestOf(content);
    writeFileSync(join(folder, digest.replace("sha256:", "")), content);
    return { digest, size: content.length };
  };
  const json = (value: unknown) => put(Buffer.from(JSON.stringify(value)));
  const blobs = [layerOf(files, links), ...layers].map((layer) => {
    const isGzip = layer[0] === 0x1f && layer[1] === 0x8b;
    return { isGzip, diffId: digestOf(isGzip ? gunzipSync(layer) : layer), ...put(layer) };
  });
  const config = json({
    architecture: { x64: "amd64" }[process.arch as string] ?? process.arch,
    os: "linux",
    config: {
      Env: ["PATH=/bin", ...env],
      WorkingDir: "/tmp",
      ...(command && { Cmd: command }),
      ...(user && { User: user }),
      ...options.config,
    },
    rootfs: { type: "layers", diff_ids: blobs.map(({ diffId }) => diffId) },
    history: [{ created_by: "a test" }],
  });
  const OCI = "application/vnd.oci.image";
  const manifest = json({
    schemaVersion: 2,
    mediaType: `${OCI}.manifest.v1+json`,
    config: { mediaType: `${OCI}.config.v1+json`, ...config },
    layers: blobs.map(({ isGzip, digest, size }) => ({
      mediaType: `${OCI}.layer.v1.tar${isGzip ? "+gzip" : ""}`,
      digest,
      size,
    })),
  });
  const annotations = { "org.opencontainers.image.ref.name": tag };
  const index = {
    schemaVersion: 2,
    manifests: [{ mediaType: `${OCI}.manifest.v1+json`, ...manifest, annotations }],
  };
  writeFileSync(join(directory, "index.json"), JSON.stringify(index));
  writeFileSync(join(directory, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  return `oci:${directory}:${tag}`;
}

const digestOf = (content: Uint8Array): string =>
  `sha256:${createHash("sha256").update(content).digest("hex")}`;

/** The same as one file, as `docker save` writes it. */
export function writeDockerArchive(layout: string, file: string): string {
  mkdirSync(dirname(file), { recursive: true });
  const args = ["--insecure-policy", "copy", "--quiet", layout, `docker-archive:${file}:tool:v1`];
  const { status, stderr } = spawnSync("skopeo", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`skopeo: ${stderr}`);
  return `docker-archive:${file}`;
}

function layerOf(
  files: Readonly<Record<string, string>>,
  links: Readonly<Record<string, string>>,
): Buffer {
  const parts: Buffer[] = [];
  for (const name of ["bin", "etc", "tmp", "root"]) {
    parts.push(header({ name: `${name}/`, mode: name === "tmp" ? 0o1777 : 0o755, type: "5" }));
  }
  parts.push(...fileOf("bin/busybox", readFileSync(BUSYBOX), 0o755));
  for (const name of [...PROGRAMS, ...MORE]) {
    parts.push(header({ name: `bin/${name}`, mode: 0o777, type: "2", link: "busybox" }));
  }
  const passwd = "root:x:0:0::/root:/bin/sh\nworker:x:1000:1000::/tmp:/bin/sh\n";
  const all = { "etc/passwd": passwd, "etc/group": "root:x:0:\nworker:x:1000:\n", ...files };
  for (const [name, text] of Object.entries(all)) {
    parts.push(...fileOf(name, Buffer.from(text), 0o644));
  }
  for (const [name, link] of Object.entries(links)) {
    parts.push(header({ name, mode: 0o777, type: "2", link }));
  }
  parts.push(Buffer.alloc(1_024));
  return Buffer.concat(parts);
}

const fileOf = (name: string, content: Buffer, mode: number): Buffer[] => [
  header({ name, mode, type: "0", size: content.length }),
  content,
  Buffer.alloc((512 - (content.length % 512)) % 512),
];

/** One header of a tar archive, in POSIX format. */
export function header(entry: {
  readonly name: string;
  readonly mode: number;
  readonly type: string;
  readonly size?: number;
  readonly link?: string;
}): Buffer {
  const block = Buffer.alloc(512);
  const octal = (value: number, at: number, length: number): void => {
    block.write(`${value.toString(8).padStart(length - 1, "0")}\0`, at, "latin1");
  };
  block.write(entry.name, 0, "latin1");
  octal(entry.mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(entry.size ?? 0, 124, 12);
  octal(0, 136, 12);
  block.write(" ".repeat(8), 148, "latin1");
  block.write(entry.type, 156, "latin1");
  block.write(entry.link ?? "", 157, "latin1");
  block.write("ustar\u000000", 257, "latin1");
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}
