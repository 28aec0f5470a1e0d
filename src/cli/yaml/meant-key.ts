import { nearest } from "../../lib/nearest.ts";

/** Keys that people write into a job, by habit or by the name of a flag, and where their value belongs. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  cpu: "resources: {cpu: ...}",
  cpus: "resources: {cpu: ...}",
  memory: "resources: {memory: ...}",
  mem: "resources: {memory: ...}",
  gpu: "resources: {gpu: ...}",
  gpus: "resources: {gpu: ...}",
  node: "placement: {node: ...}",
  cluster: "placement: {cluster: ...}",
  cmd: "command",
  time: "timeLimit",
  walltime: "timeLimit",
  timeout: "timeLimit",
  begin: "beginAt",
  stdout: "stdoutFile",
  stderr: "stderrFile",
  environment: "env",
  directory: "cwd",
  workdir: "cwd",
  after: "dependsOn",
  needs: "dependsOn",
  dependencies: "dependsOn",
};

/** `; did you mean "command"?`, or which keys there are. */
export function meantKey(key: string, known: readonly string[]): string {
  const elsewhere = Object.hasOwn(ELSEWHERE, key) ? ELSEWHERE[key] : undefined;
  if (elsewhere !== undefined && known.includes(elsewhere.split(":")[0] ?? ""))
    return `; did you mean ${elsewhere.includes(":") ? elsewhere : `"${elsewhere}"`}?`;
  const meant = nearest(key, known);
  return meant === undefined ? `; there are ${known.join(", ")}` : `; did you mean "${meant}"?`;
}
