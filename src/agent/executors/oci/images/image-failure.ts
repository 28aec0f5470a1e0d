import { formatBytes } from "../../../../lib/units.ts";
import type { PreparationFailure } from "../container-plan.ts";
import { saysNodeFault } from "../run-program.ts";
import type { DiskUse } from "./disk-use.ts";
import type { Excess, ImageBounds } from "./image-bounds.ts";
import type { ImageSource } from "./image-source.ts";

/** An image is not available; the message says why and what to do. */
export class ImageFailure extends Error {
  readonly kind: PreparationFailure["kind"];

  constructor(kind: PreparationFailure["kind"], message: string) {
    super(message);
    this.name = "ImageFailure";
    this.kind = kind;
  }
}

/** From the last messages of skopeo or umoci. */
export function describeFailure({ name, path }: ImageSource, stderr: string): ImageFailure {
  const message = lastMessage(stderr);
  const why = message.slice(0, MESSAGE_MAX) || "no reason was given";
  if (saysNodeFault(message)) return new ImageFailure("node-fault", `image ${name}: ${why}`);
  const help =
    path === undefined
      ? "check its name and tag, and that this node reaches the registry"
      : "check the file on this node, and the reference after its path";
  return new ImageFailure("could-not-start", `image ${name} cannot be read: ${why}; ${help}`);
}

/** skopeo: `time="…" level=fatal msg="…"`; umoci: "   ⨯ …". */
function lastMessage(stderr: string): string {
  const lines = stderr.split("\n").filter((line) => line.trim() !== "");
  const last = lines.findLast((line) => /level=(fatal|error)/.test(line)) ?? lines.at(-1) ?? "";
  const quoted = /msg="((?:[^"\\]|\\.)*)"/.exec(last)?.[1];
  const text = quoted === undefined ? last.trim() : quoted.replaceAll(/\\(.)/g, "$1");
  return text.replace(/^⨯\s*/, "");
}

const MESSAGE_MAX = 500;

/** An image that had grown to `use` when it was stopped. */
export function describeExcess(
  { name }: ImageSource,
  excess: Excess,
  grown: { readonly doing: string; readonly use: DiskUse; readonly bounds: ImageBounds },
): ImageFailure {
  const { doing, use, bounds } = grown;
  const reached = `${describeUse(use.bytes, use.files)} when ${doing} it was stopped`;
  if (excess === "disk") {
    const why = `the disk is full: image ${name} had ${reached}; make room on this node`;
    return new ImageFailure("node-fault", why);
  }
  return new ImageFailure(
    "could-not-start",
    `image ${name} is too large: ${reached}, and an image may have ` +
      `${describeUse(bounds.bytesMax, bounds.filesMax)}; make it smaller, put its data on the node and use --mount, or raise --image-limit of its agent`,
  );
}

const describeUse = (bytes: number, files: number): string =>
  `${formatBytes(bytes)} in ${files} files`;
