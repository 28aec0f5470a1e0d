import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";

import { FILE_IMAGE } from "../../../../core/model/job/containers/containers.ts";

/** The source of an image, in terms of skopeo. */
export interface ImageSource {
  /** "docker-archive:/a.tar", "docker://alpine:3". */
  readonly name: string;
  /** A path on this machine; undefined: the image comes from a registry. */
  readonly path: string | undefined;
  /** The registry may have another image under this name by now. */
  readonly moves: boolean;
}

/** Parses an image name of a job: IMAGE_RULE holds. */
export function toImageSource(image: string): ImageSource {
  const path = FILE_IMAGE.exec(image)?.[1];
  if (path !== undefined) return { name: image, path, moves: false };
  const named = image.replace(/^docker:\/\//, "");
  const from = named.lastIndexOf("/") + 1;
  const [last = "", digest] = named.slice(from).split("@", 2);
  const [repository = "", tag = "latest"] = last.split(":", 2);
  // skopeo rejects both; the digest alone says which image it is.
  const name = digest === undefined ? named : `${named.slice(0, from)}${repository}@${digest}`;
  return {
    name: `docker://${name}`,
    path: undefined,
    moves: tag === "latest" && digest === undefined,
  };
}

/** Its name in the file system. */
export const sourceKey = ({ name }: ImageSource): string =>
  createHash("sha256").update(name).digest("hex").slice(0, 32);

/** Changes with the file or directory that the image comes from; undefined: it does not exist. Names in registries stay. */
export function stampOf({ path, name }: ImageSource): string | undefined {
  if (path === undefined) return "registry";
  const file = name.startsWith("oci:") ? join(path, "index.json") : path;
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  return `${found.dev} ${found.ino} ${found.size} ${found.mtimeMs} ${found.ctimeMs}`;
}
