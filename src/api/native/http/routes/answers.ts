import { Type } from "typebox";
import type { ErrorCode } from "../../../../lib/errors.ts";
import { named, object, oneOf, optional, text } from "../schemas/schema.ts";

const CODES: Readonly<Record<ErrorCode, true>> = {
  invalid_argument: true,
  unprocessable: true,
  not_found: true,
  already_exists: true,
  unauthenticated: true,
  permission_denied: true,
  conflict: true,
  unschedulable: true,
  compacted: true,
  exhausted: true,
  unavailable: true,
  internal: true,
};

export const Failure = object(
  {
    error: object({
      code: oneOf(Object.keys(CODES) as ErrorCode[], "The error code, for programs"),
      message: text("The error message, for people"),
      field: optional(text("The input at fault, as it was written")),
      revision: optional(
        Type.Integer({
          description: "Of a failed ifRevision: the present revision; of a watch: where to resume",
        }),
      ),
    }),
  },
  { $id: "Failure" },
);

/** An answer that is not JSON. */
export const bytesOf = (type: string, description: string, schema: object = { type: "string" }) =>
  Type.Unsafe<unknown>({ description, content: { [type]: { schema } } });

/** For operations whose requests may be valid and still impossible. */
export const failures422 = {
  422: Type.Unsafe<never>({
    description:
      "The request matches its schema and cannot be executed: a document in it cannot be read, values " +
      "contradict each other or name something that does not exist, or no registered node or cluster can run a job",
    ...named(Failure),
  }),
} as const;

/** Answers that any route may give besides its own. Handlers never send them: they throw. */
export const failures = {
  "4xx": Type.Unsafe<never>({ description: "Refused", ...named(Failure) }),
  "5xx": Type.Unsafe<never>({ description: "Not possible now", ...named(Failure) }),
} as const;
