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
      code: oneOf(Object.keys(CODES) as ErrorCode[], "What went wrong, for programs"),
      message: text("What went wrong, for people"),
      field: optional(text("The input at fault, as it was written")),
      revision: optional(
        Type.Integer({
          description:
            "Of a condition that does not hold: the row's own; of a watch: where to resume",
        }),
      ),
    }),
  },
  { $id: "Failure" },
);

/** An answer that is not JSON. */
export const bytesOf = (type: string, description: string, schema: object = { type: "string" }) =>
  Type.Unsafe<unknown>({ description, content: { [type]: { schema } } });

/** Of operations whose requests can mean what cannot be done, though they have the right form. */
export const failures422 = {
  422: Type.Unsafe<never>({
    description:
      "The request fits its schema and cannot be followed: a document in it cannot be read, values " +
      "contradict each other or name what is not there, or no registered node or cluster can run a job",
    ...named(Failure),
  }),
} as const;

/** All that any route may answer besides its own. Handlers never send it: they throw. */
export const failures = {
  "4xx": Type.Unsafe<never>({ description: "Refused", ...named(Failure) }),
  "5xx": Type.Unsafe<never>({ description: "Not possible now", ...named(Failure) }),
} as const;
