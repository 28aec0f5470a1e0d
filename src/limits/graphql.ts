const KIB = 1024;

/**
 * Documents of GraphQL. What a request costs is known before it runs: a field shown is 1, a call of an operation
 * more, and a list multiplies what is asked of each of its items.
 */
export const graphqlLimits = {
  graphqlBodyBytesMax: 256 * KIB, // variables included; bulk submissions have REST and gRPC
  graphqlDocumentCharsMax: 64 * KIB,
  graphqlTokensMax: 4_000,
  graphqlNestingMax: 64, // brackets inside each other
  graphqlOperationsMax: 20, // in one document
  graphqlFieldsMax: 2_000, // with each fragment as often as it is used
  graphqlDepthMax: 12,
  graphqlCostMax: 20_000,
  graphqlListSize: 10, // assumed of a list that has no page size
  graphqlRowsSize: 100, // assumed of all clusters or groups
  graphqlIntrospectionDepthMax: 24, // the usual question has 14
  graphqlIntrospectionCostMax: 100_000, // of questions about the schema: more than twice the usual one
  graphqlEventCostMax: 500, // of each event of a subscription
  graphqlErrorsMax: 10, // that are told of one document
  graphqlDocumentsMax: 256, // that were checked last
  graphqlDocumentsCharsMax: 512 * KIB, // of these together
  graphqlOutputBytes: 64 * KIB, // of a task, shown as one value
} as const;
