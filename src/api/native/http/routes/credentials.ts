import { fromRotate } from "../../grpc/translate-clusters.ts";
import {
  CredentialsBody,
  CredentialsSet,
  RotateBody,
  Rotated,
} from "../schemas/cluster-schemas.ts";
import { NamePath } from "../schemas/request-schemas.ts";
import type { App } from "../schemas/typebox-provider.ts";
import { failures, failures422 } from "./answers.ts";

const tags = ["clusters"];

export function credentialRoutes(app: App): void {
  app.post(
    "/v1/clusters/:name/credentials/rotate",
    {
      schema: {
        tags,
        operationId: "rotateClusterCredentials",
        summary: "Replace a cluster's secret and token; the old ones are rejected from then on",
        params: NamePath,
        body: RotateBody,
        response: { 200: Rotated, ...failures },
      },
    },
    async ({ params: { name }, body: { secret = false, token = false }, operations }, reply) => {
      const which = fromRotate({ secret, token });
      const answer = await operations.rotateCredentials(name, which);
      reply.header("cache-control", "no-store");
      return { issued: answer.credentials, revision: answer.revision };
    },
  );
  app.put(
    "/v1/credentials",
    {
      schema: {
        tags,
        operationId: "setCredentials",
        summary:
          "Set secrets and tokens that come from elsewhere; the server stores only their hashes",
        body: CredentialsBody,
        response: { 200: CredentialsSet, ...failures422, ...failures },
      },
    },
    ({ body, operations }) => operations.setCredentials(body),
  );
}
