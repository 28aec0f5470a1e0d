import { limits } from "../../../../limits.ts";
import { PROGRESS_FILE_VARIABLE } from "../../../runs/progress/progress-files.ts";
import type { ContainerPlan, PlannedContainer } from "../container-plan.ts";
import { resourcesOf } from "./group-limits.ts";
import type { UnpackedImage } from "../images/unpacked-image.ts";

/** The paths inside a container of the files that its task needs. */
const OWN = "/run/busbar";
export const SCRIPT_INSIDE = `${OWN}/script`;
const PROGRESS_INSIDE = `${OWN}/progress`;

interface BindMount {
  readonly destination: string;
  readonly source: string;
  readonly type: string;
  readonly options: readonly string[];
}

/**
 * Without raw sockets, device nodes, audit, and administration of the machine. A program that drops its own user and changes files in the
 * image still works.
 */
const CAPABILITIES = [
  "CAP_CHOWN",
  "CAP_DAC_OVERRIDE",
  "CAP_FOWNER",
  "CAP_FSETID",
  "CAP_KILL",
  "CAP_NET_BIND_SERVICE",
  "CAP_SETFCAP",
  "CAP_SETGID",
  "CAP_SETPCAP",
  "CAP_SETUID",
  "CAP_SYS_CHROOT",
];

const MASKED = [
  "/proc/acpi",
  "/proc/asound",
  "/proc/kcore",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/sched_debug",
  "/proc/scsi",
  "/proc/timer_list",
  "/proc/timer_stats",
  "/sys/firmware",
];
const READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

/**
 * The configuration of one container of a run, by the runtime specification of OCI. `hostFiles`: files of this machine that a container on
 * its network needs to resolve host names.
 */
export function runtimeConfig(
  plan: ContainerPlan,
  container: PlannedContainer,
  image: UnpackedImage,
  hostFiles: readonly string[],
): unknown {
  const { isRootless } = plan.means;
  const set = CAPABILITIES;
  const args = container.args.length > 0 ? container.args : image.args;
  return {
    ociVersion: "1.0.2",
    process: {
      terminal: false,
      // An agent that is not root can map only one user.
      user: isRootless ? { uid: 0, gid: 0 } : image.user,
      args,
      env: envOf(image, container),
      cwd: plan.cwd ?? image.cwd,
      capabilities: { bounding: set, effective: set, permitted: set },
      rlimits: rlimitsOf(plan),
      noNewPrivileges: true,
    },
    root: { path: "rootfs", readonly: false },
    hostname: plan.hostname,
    mounts: [...systemMounts(isRootless), ...ownMounts(plan, hostFiles), ...askedMounts(plan)],
    linux: {
      namespaces: [
        "pid",
        "ipc",
        "uts",
        "mount",
        ...(plan.network === "none" ? ["network"] : []),
      ].map((type) => ({ type })),
      maskedPaths: MASKED,
      readonlyPaths: READ_ONLY,
      ...(isRootless ? {} : { cgroupsPath: container.id, resources: resourcesOf(plan) }),
    },
  };
}

function envOf(image: UnpackedImage, { env }: PlannedContainer): string[] {
  const all = new Map<string, string>();
  for (const pair of image.env) {
    const at = pair.indexOf("=");
    if (at > 0) all.set(pair.slice(0, at), pair.slice(at + 1));
  }
  if (!all.has("PATH"))
    all.set("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  for (const [name, value] of Object.entries(env)) all.set(name, value);
  all.set(PROGRESS_FILE_VARIABLE, PROGRESS_INSIDE);
  return Array.from(all, ([name, value]) => `${name}=${value}`);
}

function rlimitsOf({ dataLimitBytes }: ContainerPlan): unknown[] {
  if (dataLimitBytes === undefined) return [];
  return [{ type: "RLIMIT_DATA", soft: dataLimitBytes, hard: dataLimitBytes }];
}

function systemMounts(isRootless: boolean): BindMount[] {
  const strict = ["nosuid", "noexec", "nodev"];
  const pts = ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"];
  return [
    { destination: "/proc", type: "proc", source: "proc", options: [] },
    {
      destination: "/dev",
      type: "tmpfs",
      source: "tmpfs",
      options: ["nosuid", "strictatime", "mode=755", "size=65536k"],
    },
    {
      destination: "/dev/pts",
      type: "devpts",
      source: "devpts",
      options: isRootless ? pts : [...pts, "gid=5"],
    },
    {
      destination: "/dev/shm",
      type: "tmpfs",
      source: "shm",
      options: [...strict, "mode=1777", `size=${limits.containerShmBytes}`],
    },
    { destination: "/dev/mqueue", type: "mqueue", source: "mqueue", options: strict },
    // A new sysfs belongs to a network namespace, which a user namespace cannot own here.
    isRootless
      ? { destination: "/sys", type: "none", source: "/sys", options: ["rbind", ...strict, "ro"] }
      : { destination: "/sys", type: "sysfs", source: "sysfs", options: [...strict, "ro"] },
  ];
}

const bind = (source: string, destination: string, writable: boolean): BindMount => ({
  destination,
  source,
  type: "bind",
  options: ["rbind", "nosuid", "nodev", writable ? "rw" : "ro"],
});

function ownMounts(plan: ContainerPlan, hostFiles: readonly string[]): BindMount[] {
  return [
    bind(plan.progressFile, PROGRESS_INSIDE, true),
    ...(plan.script === undefined ? [] : [bind(plan.script, SCRIPT_INSIDE, false)]),
    ...(plan.network === "none" ? [] : hostFiles.map((path) => bind(path, path, false))),
  ];
}

const askedMounts = ({ mounts }: ContainerPlan): BindMount[] =>
  mounts.map(({ source, target, writable }) => bind(source, target, writable));
