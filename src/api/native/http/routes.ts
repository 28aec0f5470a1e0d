import { Cluster, Satisfied } from "./schemas/cluster-schemas.ts";
import type { HttpHost } from "./guards/host.ts";
import { JobSubmission, JobspecSubmission, ManySubmissions } from "./schemas/request-schemas.ts";
import { Failure } from "./routes/answers.ts";
import { clusterRoutes } from "./routes/clusters.ts";
import { groupRoutes } from "./routes/groups.ts";
import { jobRoutes } from "./routes/jobs.ts";
import { nodeRoutes } from "./routes/nodes.ts";
import { jobspecRoutes, submitRoute } from "./routes/submit.ts";
import { systemRoutes } from "./routes/system.ts";
import { taskRoutes } from "./routes/tasks.ts";
import { watchRoute } from "./routes/watch.ts";
import type { App } from "./schemas/typebox-provider.ts";
import * as views from "./schemas/view-schemas.ts";

/** The components of the document: what routes refer to by name. */
const NAMED = [
  JobSubmission,
  ManySubmissions,
  JobspecSubmission,
  Failure,
  views.JobSpec,
  views.Job,
  views.Task,
  views.Node,
  views.Group,
  views.Explanation,
  views.Stats,
  views.Submitted,
  views.TriedJob,
  Cluster,
  Satisfied,
];

export function addRoutes(app: App, host: HttpHost, heartbeatMs: number): void {
  for (const schema of NAMED) app.addSchema(schema);
  submitRoute(app);
  jobspecRoutes(app);
  jobRoutes(app);
  taskRoutes(app, host);
  watchRoute(app, host, heartbeatMs);
  nodeRoutes(app);
  clusterRoutes(app);
  groupRoutes(app);
  systemRoutes(app, host);
}
