import type { Command } from "commander";
import type { Shell } from "./session.ts";

/** One top-level command: its help, and where its code is. */
export interface Noun {
  readonly name: string;
  readonly group: string;
  readonly summary: string;
  load(): Promise<(command: Command, shell: Shell) => void>;
}

const JOBS = "Jobs:";
const PLACES = "Places:";
const SERVICES = "Services:";
const MORE = "More:";

/** In the order of the help. */
export const nouns: readonly Noun[] = [
  {
    name: "run",
    group: JOBS,
    summary: "Run a command as a job, show its output, and exit with its code.",
    load: async () => (await import("./jobs/run.ts")).declareRun,
  },
  {
    name: "submit",
    group: JOBS,
    summary: "Submit jobs to the queue and print their ids.",
    load: async () => (await import("./submit/submit.ts")).declareSubmit,
  },
  {
    name: "jobs",
    group: JOBS,
    summary: "List jobs, newest first.",
    load: async () => (await import("./jobs/jobs.ts")).declareJobs,
  },
  {
    name: "job",
    group: JOBS,
    summary: "Show one job or task in detail.",
    load: async () => (await import("./jobs/job.ts")).declareJob,
  },
  {
    name: "tasks",
    group: JOBS,
    summary: "List the tasks of a job.",
    load: async () => (await import("./jobs/tasks.ts")).declareTasks,
  },
  {
    name: "logs",
    group: JOBS,
    summary: "Print the output of a task.",
    load: async () => (await import("./jobs/logs.ts")).declareLogs,
  },
  {
    name: "cancel",
    group: JOBS,
    summary: "Cancel jobs or single tasks.",
    load: async () => (await import("./changes/cancel.ts")).declareCancel,
  },
  {
    name: "wait",
    group: JOBS,
    summary: "Wait until jobs have ended; exit 1 unless all succeeded.",
    load: async () => (await import("./changes/wait-command.ts")).declareWait,
  },
  {
    name: "hold",
    group: JOBS,
    summary: "Keep jobs or single tasks in the queue until they are released.",
    load: async () => (await import("./changes/hold.ts")).declareHold,
  },
  {
    name: "release",
    group: JOBS,
    summary: "Release jobs or single tasks that are on hold.",
    load: async () => (await import("./changes/hold.ts")).declareRelease,
  },
  {
    name: "requeue",
    group: JOBS,
    summary: "Stop running tasks, and place them again.",
    load: async () => (await import("./changes/hold.ts")).declareRequeue,
  },
  {
    name: "rerun",
    group: JOBS,
    summary: "Submit a job again, or only its failed tasks.",
    load: async () => (await import("./changes/rerun.ts")).declareRerun,
  },
  {
    name: "update",
    group: JOBS,
    summary: "Change the priority, time limit or group of jobs.",
    load: async () => (await import("./changes/update.ts")).declareUpdate,
  },
  {
    name: "progress",
    group: JOBS,
    summary: "Report the progress of a task, from inside it.",
    load: async () => (await import("./jobs/progress.ts")).declareProgress,
  },
  {
    name: "generate",
    group: JOBS,
    summary: "Submit jobs that ask for energy at a rate, and print statistics.",
    load: async () => (await import("./generate/generate.ts")).declareGenerate,
  },
  {
    name: "explain",
    group: JOBS,
    summary: "Explain why a job is pending and what would help.",
    load: async () => (await import("./jobs/explain.ts")).declareExplain,
  },
  {
    name: "watch",
    group: JOBS,
    summary: "Print changes as they happen.",
    load: async () => (await import("./jobs/watch.ts")).declareWatch,
  },
  {
    name: "jobspec",
    group: JOBS,
    summary: "Check, convert or plan a jobspec of any dialect.",
    load: async () => (await import("./submit/jobspec.ts")).declareJobspec,
  },
  {
    name: "schema",
    group: JOBS,
    summary: "Print the JSON Schema of job files, for editors.",
    load: async () => (await import("./submit/schema.ts")).declareSchema,
  },
  {
    name: "satisfy",
    group: JOBS,
    summary: "Show which clusters can run a jobspec, and why others cannot.",
    load: async () => (await import("./clusters/satisfy.ts")).declareSatisfy,
  },
  {
    name: "services",
    group: JOBS,
    summary: "List services; show, apply, roll back or remove one.",
    load: async () => (await import("./services/services.ts")).declareServices,
  },
  {
    name: "scale",
    group: JOBS,
    summary: "Set the number of instances of a service.",
    load: async () => (await import("./services/services.ts")).declareScale,
  },
  {
    name: "nodes",
    group: PLACES,
    summary: "List nodes; show, drain, undrain or remove one.",
    load: async () => (await import("./nodes/nodes.ts")).declareNodes,
  },
  {
    name: "clusters",
    group: PLACES,
    summary: "List clusters.",
    load: async () => (await import("./clusters/clusters.ts")).declareClusters,
  },
  {
    name: "cluster",
    group: PLACES,
    summary: "Register, show or delete a pull cluster; rotate its credentials.",
    load: async () => (await import("./clusters/cluster.ts")).declareCluster,
  },
  {
    name: "subsystem",
    group: PLACES,
    summary: "Add, list, show or remove subsystems of a cluster's graph.",
    load: async () => (await import("./clusters/subsystem.ts")).declareSubsystem,
  },
  {
    name: "state",
    group: PLACES,
    summary: "Set, show or unset keys of a cluster's state.",
    load: async () => (await import("./clusters/state.ts")).declareState,
  },
  {
    name: "service",
    group: SERVICES,
    summary: "Run the server or an agent as a systemd service.",
    load: async () => (await import("./service/service.ts")).declareService,
  },
  {
    name: "backup",
    group: SERVICES,
    summary: "Write a checked copy of all data of a running server.",
    load: async () => (await import("./service/backup.ts")).declareBackup,
  },
  {
    name: "recover",
    group: SERVICES,
    summary: "Show what a damaged data directory has lost, and continue without it.",
    load: async () => (await import("./service/recover.ts")).declareRecover,
  },
  {
    name: "restore",
    group: SERVICES,
    summary: "Create a data directory from a backup.",
    load: async () => (await import("./service/restore.ts")).declareRestore,
  },
  {
    name: "extract",
    group: PLACES,
    summary: "Print the resources of this machine, or a cluster's graph of several.",
    load: async () => (await import("./nodes/extract.ts")).declareExtract,
  },
  {
    name: "groups",
    group: PLACES,
    summary: "List groups; set, pause, resume or remove one.",
    load: async () => (await import("./jobs/groups.ts")).declareGroups,
  },
  {
    name: "up",
    group: SERVICES,
    summary: "Start a server and an agent on this machine.",
    load: async () => (await import("./service/services.ts")).declareUp,
  },
  {
    name: "server",
    group: SERVICES,
    summary: "Start a server alone.",
    load: async () => (await import("./service/services.ts")).declareServer,
  },
  {
    name: "agent",
    group: SERVICES,
    summary: "Start an agent that runs tasks on this machine, or for a whole cluster.",
    load: async () => (await import("./nodes/agent.ts")).declareAgent,
  },
  {
    name: "top",
    group: MORE,
    summary: "Show running and pending work, live.",
    load: async () => (await import("./top/top.ts")).declareTop,
  },
  {
    name: "stats",
    group: MORE,
    summary: "Show statistics of the server.",
    load: async () => (await import("./service/stats.ts")).declareStats,
  },
  {
    name: "rainbow-config",
    group: MORE,
    summary: "Import the configuration of rainbow, or export one for its clients.",
    load: async () => (await import("./coming-from/rainbow-config.ts")).declareRainbowConfig,
  },
  {
    name: "go-schedule",
    group: MORE,
    summary: "Show what the configuration of go-schedule becomes.",
    load: async () => (await import("./coming-from/go-schedule.ts")).declareGoSchedule,
  },
  {
    name: "completion",
    group: MORE,
    summary: "Print a completion script for a shell.",
    load: async () => (await import("./completion/completion.ts")).declareCompletion,
  },
  {
    name: "version",
    group: MORE,
    summary: "Print the version.",
    load: async () => (await import("./service/version.ts")).declareVersion,
  },
];
