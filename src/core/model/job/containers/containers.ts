import { invalid, unprocessable } from "../../../../lib/errors.ts";
import { checkRule } from "../../../../lib/rules/check-rule.ts";
import type { Rule } from "../../../../lib/rules/rules.ts";
import { limits } from "../../../../limits.ts";
import { COMMAND_RULE, ENV_RULE, toArgv, toEnv } from "../env.ts";
import type { Texts } from "../job.ts";

/*
 * Jobs that run in containers: docs/containers.md, docs/design/containers.md.
 */

export const NETWORKS = ["host", "none"] as const;
export type Network = (typeof NETWORKS)[number];

/** A path of the node inside a container. */
export interface Mount {
  readonly source: string;
  readonly target: string;
  readonly writable: boolean;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  /** Empty: the image's own. */
  readonly command: readonly string[];
  /** Added to the job's. */
  readonly env: Texts;
}

/** The container terms of a job, complete. It has either an image or containers. */
export interface ContainerTerms {
  /** The image in which the job's own command or script runs; without either the image's own command does. */
  readonly image: string | undefined;
  /** They start together and end together. */
  readonly containers: readonly Container[];
  /** Inside each of them. */
  readonly mounts: readonly Mount[];
  readonly network: Network;
}

export interface ContainerFields {
  readonly image?: string | undefined;
  readonly mounts?: readonly MountInput[] | undefined;
  readonly containers?: readonly ContainerInput[] | undefined;
  readonly network?: string | undefined;
}

/** Absent fields are empty, as in protobuf messages. */
interface MountInput {
  readonly source?: string | undefined;
  readonly target?: string | undefined;
  readonly writable?: boolean | undefined;
}

interface ContainerInput {
  readonly name?: string | undefined;
  readonly image?: string | undefined;
  readonly command?: readonly string[] | undefined;
  readonly env?: Texts | undefined;
}

/** A registry's name for an image, with its tag or digest. No option of a command line matches it. */
const NAMED =
  "[a-z0-9][A-Za-z0-9._/-]*(:[0-9]+/[A-Za-z0-9._/-]+)?(:[A-Za-z0-9._-]+)?(@sha256:[0-9a-f]{64})?";
/** A relative path must not be read as a tag. */
const NO_TRANSPORT = "(?!(docker-archive|oci-archive|oci|docker-daemon|docker|dir|sif|tarball):)";
const PATH = "/[^:\\s\\u0000-\\u001f\\u007f]*";
const REFERENCE = "(:[A-Za-z0-9][A-Za-z0-9._:/@-]*)?";

export const IMAGE_RULE = {
  maxLength: 1_024,
  pattern: `^((docker-archive|oci-archive|oci):${PATH}${REFERENCE}|(docker://|${NO_TRANSPORT})${NAMED})$`,
  hint:
    "docker-archive:FILE[:REFERENCE], oci-archive:FILE[:REFERENCE], oci:DIRECTORY[:TAG] with an " +
    "absolute path, docker://NAME[:TAG] or NAME[:TAG]",
  examples: ["docker-archive:/images/tool.tar", "oci:/images/tool:1.2", "docker://alpine:3.20"],
} as const satisfies Rule;

/** The path of an image that is a file of its node; a registry's name does not match. */
export const FILE_IMAGE = /^(?:docker-archive|oci-archive|oci):(\/[^:]*)/;

const ABSOLUTE = {
  maxLength: 4_096,
  pattern: "^/[^\\u0000]*$",
  hint: "an absolute path",
} as const satisfies Rule;

export const MOUNT_RULES = {
  source: { ...ABSOLUTE, required: true },
  target: { ...ABSOLUTE, pattern: "^/[^\\u0000]*[^/\\u0000][^\\u0000]*$", required: true },
} as const satisfies Readonly<Record<string, Rule>>;

export const CONTAINER_RULES = {
  name: {
    maxLength: 63,
    pattern: "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$",
    hint: 'a name of lower case letters, digits and "-", like web',
    required: true,
  },
  image: { ...IMAGE_RULE, required: true },
  command: { ...COMMAND_RULE, minItems: 0 }, // empty: the command of its image
  env: ENV_RULE,
} as const satisfies Readonly<Record<string, Rule>>;

/** For the fields of a spec. */
export const CONTAINER_FIELD_RULES = {
  image: IMAGE_RULE,
  mounts: { maxItems: limits.mountsMax },
  containers: { maxItems: limits.containersMax },
  network: { enum: NETWORKS },
} as const satisfies Readonly<Record<string, Rule>>;

export const isContained = ({ image, containers = [] }: ContainerFields): boolean =>
  image !== undefined || containers.length > 0;

/** undefined: the job has no containers. */
export function toContainerTerms(input: ContainerFields): ContainerTerms | undefined {
  const { image, containers = [], mounts = [], network } = input;
  if (!isContained(input)) {
    for (const field of ["mounts", "network"] as const) {
      const value = input[field];
      if (value !== undefined && value.length > 0) {
        throw unprocessable(field, "is for jobs with an image or containers");
      }
    }
    return undefined;
  }
  if (image !== undefined && containers.length > 0) {
    throw invalid("containers", "give either an image or containers, not both");
  }
  checkRule(mounts, "mounts", CONTAINER_FIELD_RULES.mounts);
  if (network !== undefined) checkRule(network, "network", CONTAINER_FIELD_RULES.network);
  return {
    image: image === undefined ? undefined : checkRule(image, "image", IMAGE_RULE),
    containers: toContainers(containers),
    mounts: mounts.map((mount, at) => toMount(mount, `mounts[${at}]`)),
    network: network === "none" ? "none" : "host",
  };
}

function toContainers(inputs: readonly ContainerInput[]): readonly Container[] {
  if (inputs.length > 0) checkRule(inputs, "containers", CONTAINER_FIELD_RULES.containers);
  const names = new Set<string>();
  return inputs.map(({ name = "", image = "", command = [], env }, at) => {
    const field = `containers[${at}]`;
    checkRule(name, `${field}.name`, CONTAINER_RULES.name);
    if (names.has(name)) {
      throw unprocessable(`${field}.name`, `two containers are called ${name}`);
    }
    names.add(name);
    return {
      name,
      image: checkRule(image, `${field}.image`, IMAGE_RULE),
      command: command.length === 0 ? [] : toArgv(command, `${field}.command`),
      env: toEnv(env, `${field}.env`),
    };
  });
}

function toMount({ source = "", target = "", writable }: MountInput, field: string): Mount {
  checkRule(source, `${field}.source`, MOUNT_RULES.source);
  checkRule(target, `${field}.target`, MOUNT_RULES.target);
  const parts = target.split("/");
  if (parts.includes("..")) throw unprocessable(`${field}.target`, "must not contain ..");
  if (parts.every((part) => part === "" || part === ".")) {
    throw unprocessable(`${field}.target`, "must not be the root of the container");
  }
  return { source, target, writable: writable === true };
}
