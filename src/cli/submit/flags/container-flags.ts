import { type Command, Option } from "commander";
import { NETWORKS } from "../../../core/model/job/containers/containers.ts";
import { invalid } from "../../../lib/errors.ts";
import type { Context } from "../../context.ts";
import { notEmpty, oneOf } from "../../flags.ts";
import { collecting } from "../../single-flags.ts";
import { resolveHere } from "./directory-flags.ts";

interface MountFlag {
  readonly source: string;
  readonly target: string;
  readonly writable?: boolean;
}

export interface ContainerFlags {
  readonly image?: string;
  readonly mount?: readonly MountFlag[];
  readonly network?: (typeof NETWORKS)[number];
}

export function addContainerFlags(command: Command): void {
  command
    .option(
      "--image <image>",
      "run it in a container of this image: docker-archive:FILE, oci-archive:FILE, oci:DIR[:TAG] or NAME:TAG",
      notEmpty("--image"),
    )
    .option(
      "--mount <source:target[:rw]>",
      "mount a path of the node into the container; read-only without :rw (repeatable)",
      collecting((text: string, sofar: readonly MountFlag[] = []) => [...sofar, parseMount(text)]),
    )
    .addOption(
      new Option("--network <which>", "network of the container: host (default), or none")
        .choices([...NETWORKS])
        .argParser(oneOf("--network", NETWORKS)),
    );
}

function parseMount(text: string): MountFlag {
  const [source = "", target = "", mode = "ro", ...more] = text.split(":");
  if (source === "" || !target.startsWith("/") || more.length > 0) {
    throw invalid("--mount", `${text}: write SOURCE:TARGET, or SOURCE:TARGET:rw, like /data:/data`);
  }
  if (mode !== "ro" && mode !== "rw") throw invalid("--mount", `${mode} is neither ro nor rw`);
  return mode === "rw" ? { source, target, writable: true } : { source, target };
}

/** Relative paths are the caller's, as for --cwd. */
export function containerOf({ image, mount = [], network }: ContainerFlags, context: Context) {
  if (image === undefined) {
    const given = mount.length > 0 ? "--mount" : network === undefined ? undefined : "--network";
    if (given !== undefined) throw invalid(given, "needs --image");
    return {};
  }
  const mounts = mount.map((each) => ({ ...each, source: resolveHere(context, each.source) }));
  return { image: withPath(image, context), mounts, network };
}

const FILED = /^(docker-archive|oci-archive|oci):([^:]+)(.*)$/;

function withPath(image: string, context: Context): string {
  const [, transport = "", path = "", rest = ""] = FILED.exec(image) ?? [];
  return path === "" ? image : `${transport}:${resolveHere(context, path)}${rest}`;
}
