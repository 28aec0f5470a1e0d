import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { type Read, readDocument, Walk } from "./config-walk.ts";
import { type FileKind, fileKinds, type Key, keysOf, type Meaning } from "./go-schedule-keys.ts";
import { type ImportPlan, type ImportStep, none } from "./import-plan.ts";
import type { Value } from "../yaml/yaml-value.ts";

export interface GoSchedulePlan extends ImportPlan {
  readonly file: FileKind;
}

/** A key of the file, and its meaning here. */
interface Setting {
  readonly key: string;
  readonly value: Value;
  readonly text: string;
  readonly meaning: Meaning;
}

/** Converts each key of one of go-schedule's files. Rejects values that go-schedule itself rejects. */
export function planGoSchedule(content: string, file: string): GoSchedulePlan {
  const root = readDocument(content, file, "go-schedule");
  const kind = kindOf(root, file);
  const { settings, unknown } = readSettings(root, keysOf[kind]);
  if (kind === "management-node") checkManagementNode(settings, file);
  const isSilent = kind === "management-node" && !settings.some(isListening);
  const meanings = settings.map(({ meaning }) => meaning);
  return {
    file: kind,
    steps: [
      ...(isSilent ? [SILENT] : []),
      ...settings.map(({ key, meaning }) => stepOf(key, meaning)),
      ...unknown.map((key) => none(key, "nothing: go-schedule does not read it either")),
    ],
    flags: [
      ...(isSilent ? ["--go-schedule"] : []),
      ...meanings.flatMap((each) => each.flags ?? []),
    ],
    warnings: meanings.flatMap(({ warning }) => (warning === undefined ? [] : [warning])),
  };
}

const isListening = ({ key, text }: Setting): boolean => key === "listening_address" && text !== "";

/** go-schedule then listens on a random port; without the flag none of the others is allowed. */
const SILENT: ImportStep = {
  key: "listening_address",
  becomes: "--go-schedule",
  kind: "flag",
  hint: "the file does not say where: 127.0.0.1:1234",
};

const stepOf = (key: string, { becomes, kind, hint }: Meaning): ImportStep => ({
  key,
  becomes,
  kind,
  ...(hint === undefined ? {} : { hint }),
});

const NESTED = "basic_config";

/** In the order of the file. */
function readSettings(root: Value, keys: Readonly<Record<string, Key>>) {
  const settings: Setting[] = [];
  const unknown: string[] = [];
  const walk = new Walk(unknown);
  const own: Record<string, Read> = {};
  const nested: Record<string, Read> = {};
  for (const [path, known] of Object.entries(keys)) {
    const read: Read = (value, key) => settings.push(settingOf(key, value, known));
    if (path.startsWith(`${NESTED}.`)) nested[path.slice(NESTED.length + 1)] = read;
    else own[path] = read;
  }
  walk.map(root, "", { ...own, [NESTED]: walk.inside(nested) });
  return { settings, unknown };
}

function settingOf(key: string, value: Value, known: Key): Setting {
  // Without a value: Go reads it as 0 or "", like an absent key.
  if (value.kind === "nothing") {
    return { key, value, text: "", meaning: { becomes: "nothing: it is empty", kind: "none" } };
  }
  const text = known.read(value);
  return { key, value, text, meaning: known.means(text) };
}

/** Keys that only this file has. Keys of the other files are no evidence against it: they are ignored there. */
const SIGNS: Readonly<Record<FileKind, readonly string[]>> = {
  "management-node": [
    "listening_address",
    "ping_timer",
    "etcd_address",
    "etcd_dial_timeout",
    "scheduler_algo",
    "dead_timeout",
  ],
  "worker-node": ["silence_timeout", "reconnect_timeout", "connetion_timeout", "dial_timeout"],
  schedctl: ["server_address", "connection_timeout"],
};

/** By its keys, because people choose the file names. The first file with such a key wins. */
function kindOf(root: Value, file: string): FileKind {
  const names = new Set(root.entries().map(([name]) => name));
  const kind = fileKinds.find((each) => SIGNS[each].some((sign) => names.has(sign)));
  if (kind !== undefined) return kind;
  const signs = "listening_address, ping_timer, ...; server_address, silence_timeout, ...";
  throw invalid(file, `is not a file of go-schedule: it has none of the keys ${signs}`);
}

/**
 * The two checks that the management node makes before it starts. It would allow a ping interval equal to the silence limit, which then
 * depends on luck; this server does not.
 */
function checkManagementNode(settings: readonly Setting[], file: string): void {
  const given = (key: string) => settings.find((each) => each.key === key && each.text !== "");
  if (given("scheduler_algo") === undefined) {
    throw invalid(file, "scheduler_algo is missing: go-schedule does not start; write rr or rand");
  }
  const [ping, silence] = [given("ping_timer"), given("silence_timeout")];
  if (silence === undefined) {
    // go-schedule reads it as 0.
    if (ping === undefined) return;
    throw ping.value.fail("must be shorter than silence_timeout, which is missing");
  }
  const pingSeconds = ping?.text ?? String(limits.goSchedulePingMs / 1_000);
  if (Number(pingSeconds) < Number(silence.text)) return;
  const why = ping === undefined ? "when it is missing" : "here";
  throw silence.value.fail(`must be longer than ping_timer, which is ${pingSeconds} ${why}`);
}
