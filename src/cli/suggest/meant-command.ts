import { nearest } from "../../lib/nearest.ts";

/** Commands of other tools, and their names here. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  // Slurm, Flux, PBS, LSF
  sbatch: "submit",
  qsub: "submit",
  bsub: "submit",
  batch: "submit",
  srun: "run",
  salloc: "run",
  squeue: "jobs",
  qstat: "jobs",
  bjobs: "jobs",
  queue: "jobs",
  sacct: "jobs --since 1d",
  history: "jobs --since 1d",
  scancel: "cancel",
  qdel: "cancel",
  bkill: "cancel",
  sinfo: "nodes",
  bhosts: "nodes",
  pbsnodes: "nodes",
  hosts: "nodes",
  machines: "nodes",
  partitions: "clusters",
  queues: "groups",
  accounts: "groups",
  scontrol: "job ID",
  sstat: "top",
  suspend: "hold",
  resume: "release",
  // kubectl, docker, nomad
  get: "jobs",
  list: "jobs",
  ls: "jobs",
  ps: "jobs",
  describe: "job ID",
  show: "job ID",
  inspect: "job ID",
  info: "job ID",
  status: "job ID, or busbar stats",
  create: "submit",
  add: "submit",
  start: "run, or busbar up",
  exec: "run",
  apply: "services apply, or busbar submit --file",
  deploy: "services apply",
  kill: "cancel",
  delete: "cancel",
  remove: "cancel",
  rm: "cancel",
  stop: "cancel",
  abort: "cancel",
  log: "logs",
  output: "logs",
  tail: "logs --follow",
  cat: "logs",
  follow: "logs --follow",
  events: "watch",
  retry: "rerun",
  restart: "requeue",
  why: "explain",
  drain: "nodes drain",
  cordon: "nodes drain",
  undrain: "nodes undrain",
  uncordon: "nodes undrain",
  workers: "nodes",
  deployments: "services",
  namespaces: "groups",
  metrics: "stats",
  htop: "top",
  serve: "server",
  worker: "agent",
};

/** `; did you mean busbar jobs?`, or where to look. A word of another tool takes precedence over a similar name. */
export function meantCommand(word: string, names: readonly string[]): string {
  const known = Object.hasOwn(ELSEWHERE, word.toLowerCase())
    ? ELSEWHERE[word.toLowerCase()]
    : undefined;
  const meant = known ?? nearest(word, names);
  return meant === undefined
    ? "; busbar help lists the commands"
    : `; did you mean busbar ${meant}?`;
}
