const KIB = 1024;

/**
 * Documents of GraphQL. The server computes the cost of a request before it runs: a shown field costs 1, a call of an
 * operation more, and a list multiplies the cost of one of its items.
 */
export const graphqlLimits = {
  graphqlBodyBytesMax: 256 * KIB, // variables included; use REST or gRPC for bulk submissions
  graphqlDocumentCharsMax: 64 * KIB,
  graphqlTokensMax: 4_000,
  graphqlNestingMax: 64, // nested brackets
  graphqlOperationsMax: 20, // in one document
  graphqlFieldsMax: 2_000, // each use of a fragment counts
  graphqlDepthMax: 12,
  graphqlCostMax: 20_000,
  graphqlListSize: 10, // assumed for a list without a page size
  graphqlRowsSize: 100, // assumed for the list of all clusters or groups
  graphqlIntrospectionDepthMax: 24, // the usual introspection query has 14
  graphqlIntrospectionCostMax: 100_000, // of introspection queries: more than twice the usual one
  graphqlEventCostMax: 500, // of each event of a subscription
  graphqlErrorsMax: 10, // errors in the answer to one document
  graphqlDocumentsMax: 256, // the most recently checked documents, remembered
  graphqlDocumentsCharsMax: 512 * KIB, // of these together
  graphqlOutputBytes: 64 * KIB, // of a task, shown as one value
} as const;
