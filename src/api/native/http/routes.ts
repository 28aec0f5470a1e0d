import { graphqlRoutes, type GraphqlDoor } from "../graphql/routes.ts";
import type { HttpHost } from "./guards/host.ts";
import { Failure } from "./routes/answers.ts";
import { clusterRoutes } from "./routes/clusters.ts";
import { groupRoutes } from "./routes/groups.ts";
import { jobRoutes } from "./routes/jobs.ts";
import { nodeRoutes } from "./routes/nodes.ts";
import { serviceRoutes } from "./routes/services.ts";
import { jobspecRoutes, submitRoute } from "./routes/submit.ts";
import { systemRoutes } from "./routes/system.ts";
import { taskRoutes } from "./routes/tasks.ts";
import { watchRoute } from "./routes/watch.ts";
import type { App } from "./schemas/typebox-provider.ts";
import { components } from "./schemas/derived.ts";

export function addRoutes(app: App, host: HttpHost, streaming: GraphqlDoor): void {
  // The schemas that routes refer to by name.
  for (const schema of [Failure, ...components()]) app.addSchema(schema);
  submitRoute(app);
  jobspecRoutes(app);
  jobRoutes(app);
  taskRoutes(app, host);
  watchRoute(app, host, streaming.heartbeatMs);
  nodeRoutes(app);
  clusterRoutes(app);
  groupRoutes(app);
  serviceRoutes(app);
  systemRoutes(app, host);
  graphqlRoutes(app, host, streaming);
}
