/**
 * The few fields whose JSON does not follow from their type alone. A test checks that each field exists, and that every text that its
 * comment calls JSON is listed.
 */

/** Texts that are JSON on the wire; in JSON they are that value itself. */
export const JSON_TEXTS = {
  "busbar.v1.JobSpec": ["request"],
  "busbar.v1.Selection": ["options"],
  "busbar.v1.Node": ["facts"],
  "busbar.v1.RegisterClusterRequest": ["graph"],
  "busbar.v1.AddSubsystemRequest": ["graph"],
  "busbar.v1.GraphDocument": ["graph"],
  "busbar.v1.SatisfyRequest": ["request"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** Messages whose fields are inlined into the message around them, so that people write one level less. */
export const INLINED = {
  "busbar.v1.JobSubmission": "spec",
  "busbar.v1.ListJobsRequest": "filter",
} as const satisfies Readonly<Record<string, string>>;

/**
 * Messages of answers that callers write too: an empty list or map means nothing there and is omitted. In messages that only the server
 * writes, lists and maps always exist, so that readers can rely on them.
 */
export const WRITTEN = [
  "busbar.v1.JobSpec",
  "busbar.v1.Dependency",
  "busbar.v1.Placement",
  "busbar.v1.Selection",
  "busbar.v1.Container",
] as const;

/** Amounts by name, where memory may be a text with a unit: 4GiB. */
export const AMOUNTS = {
  "busbar.v1.JobSpec": ["resources"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** A number, a text, or true or false: in JSON the value itself. */
export const VALUE = "busbar.v1.Value";

type Lists = Readonly<Record<string, readonly string[]>>;

const isListed = (lists: Lists, typeName: string, field: string): boolean =>
  lists[typeName]?.includes(field) === true;

export const isJsonText = (typeName: string, field: string): boolean =>
  isListed(JSON_TEXTS, typeName, field);

export const isAmounts = (typeName: string, field: string): boolean =>
  isListed(AMOUNTS, typeName, field);

export const isInlined = (typeName: string, field: string): boolean =>
  (INLINED as Readonly<Record<string, string>>)[typeName] === field;
