import { readFileSync } from "node:fs";
import { join } from "node:path";

/** An image's settings for its programs, and the time it was unpacked here. */
export interface UnpackedImage {
  /** The digest of its manifest, as copied here. */
  readonly digest: string;
  /** Its entry point and command; empty: it has none. */
  readonly args: readonly string[];
  readonly env: readonly string[];
  readonly cwd: string;
  /** As the image has it; undefined: it has none, or an earlier version unpacked it. */
  readonly stopSignal?: string;
  readonly user: {
    readonly uid: number;
    readonly gid: number;
    readonly additionalGids?: readonly number[];
  };
  readonly bytes: number;
  readonly bootId: string;
  readonly unpackedAtMs: number;
}

export const imageFile = (directory: string): string => join(directory, "image.json");
/** Touched at each use. */
export const usedFile = (directory: string): string => join(directory, "used");

interface Layout {
  readonly manifests?: readonly { readonly digest?: string }[];
}
interface Manifest {
  readonly config?: { readonly digest?: string };
}
interface ImageConfig {
  readonly config?: {
    readonly Entrypoint?: readonly string[] | null;
    readonly Cmd?: readonly string[] | null;
    readonly Env?: readonly string[] | null;
    readonly WorkingDir?: string;
    readonly StopSignal?: string;
  };
}
interface Unpacked {
  readonly process?: { readonly user?: UnpackedImage["user"] };
}

/** The digest of the one image of an OCI layout. */
export function digestOf(layout: string): string {
  const { manifests = [] } = readJson(join(layout, "index.json")) as Layout;
  const digest = manifests[0]?.digest;
  if (digest === undefined || !/^sha256:[0-9a-f]{64}$/.test(digest)) {
    throw new Error("the image has no manifest");
  }
  return digest;
}

/** `bundle`: the directory that umoci unpacked it to; umoci knows the user's number, which may be a name in the image. */
export function describeImage(
  layout: string,
  bundle: string,
): Omit<UnpackedImage, "bytes" | "bootId" | "unpackedAtMs"> {
  const digest = digestOf(layout);
  const manifest = readJson(blobPath(layout, digest)) as Manifest;
  const { config = {} } = readJson(blobPath(layout, manifest.config?.digest ?? "")) as ImageConfig;
  const unpacked = readJson(join(bundle, "config.json")) as Unpacked;
  return {
    digest,
    args: [...(config.Entrypoint ?? []), ...(config.Cmd ?? [])],
    env: config.Env ?? [],
    cwd: config.WorkingDir === undefined || config.WorkingDir === "" ? "/" : config.WorkingDir,
    ...(config.StopSignal && { stopSignal: config.StopSignal.slice(0, STOP_SIGNAL_CHARS) }),
    user: unpacked.process?.user ?? { uid: 0, gid: 0 },
  };
}

const STOP_SIGNAL_CHARS = 32;

const blobPath = (layout: string, digest: string): string =>
  join(layout, "blobs", ...digest.split(":"));

const readJson = (path: string): unknown => JSON.parse(readFileSync(path, "utf8"));
