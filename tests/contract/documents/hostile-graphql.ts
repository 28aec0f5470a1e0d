/** Documents of GraphQL that could take long to check, of a size that grows with `size`. */
export const hostileGraphql: Readonly<Record<string, (size: number) => string>> = {
  "many aliases": (size) => `{ ${times(size, (at) => `a${at}: stats { version }`)} }`,
  "the same field again and again": (size) => `{ ${times(size, () => "stats { version }")} }`,
  "the same fields, nested": (size) => `{ ${times(size, () => "jobs { jobs { id } }")} }`,
  "the same field with other arguments": (size) =>
    `{ ${times(size, (at) => `a: job(id: "${at}") { id }`)} }`,
  "unknown fields": (size) => `{ ${times(size, (at) => `statz${at}`)} }`,
  "unknown arguments": (size) => `{ jobs(${times(size, (at) => `x${at}: 1`)}) { revision } }`,
  "the same argument": (size) => `{ jobs(${times(size, () => "group: 1")}) { revision } }`,
  "many fragments, unused": (size) =>
    `{ stats { version } } ${times(size / 2, (at) => `fragment F${at} on Stats { version }`)}`,
  "many fragments, used": (size) =>
    `{ ${times(size / 4, (at) => `...F${at}`)} } ${times(size / 4, (at) => `fragment F${at} on Query { stats { version } }`)}`,
  "fragments in a chain": (size) =>
    `{ stats { ...F0 } } ${times(size / 2, (at) => `fragment F${at} on Stats { version ...F${at + 1} }`)}
     fragment F${Math.ceil(size / 2)} on Stats { version }`,
  "fragments in a circle": (size) =>
    `{ stats { ...F0 } } ${times(size / 2, (at) => `fragment F${at} on Stats { ...F${(at + 1) % Math.ceil(size / 2)} }`)}`,
  "fragments that each use all": (size) => {
    const count = Math.ceil(Math.sqrt(size));
    const all = times(count, (at) => `...F${at}`);
    return `{ stats { ${all} } } ${times(count, (at) => `fragment F${at} on Stats { version ${at === 0 ? "" : times(at, (other) => `...F${other}`)} }`)}`;
  },
  "variables without use": (size) =>
    `query(${times(size, (at) => `$v${at}: Int`)}) { stats { version } }`,
  "variables without declaration": (size) =>
    `{ ${times(size, (at) => `a${at}: jobs(pageSize: $v${at}) { revision }`)} }`,
  directives: (size) => `{ stats { version ${times(size, () => "@skip(if: false)")} } }`,
  "unknown directives": (size) => `{ stats { version ${times(size, (at) => `@x${at}`)} } }`,
  "a long list": (size) => `{ jobs(states: [${times(size, () => "running")}]) { revision } }`,
  "a long object": (size) =>
    `{ jobs(labels: {${times(size, (at) => `k${at}: "v"`)}}) { revision } }`,
  "the same key": (size) => `{ jobs(labels: {${times(size, () => 'k: "v"')}}) { revision } }`,
  "a long text": (size) => `{ job(id: "${"\\u0041".repeat(size)}") { id } }`,
  "a block of text": (size) => `{ job(id: """${" \n".repeat(size)}""") { id } }`,
  "a long name": (size) => `{ ${"a".repeat(size)} }`,
  comments: (size) => `${"#\n".repeat(size)}{ stats { version } }`,
  "many operations": (size) => times(size, (at) => `query q${at} { stats { version } }`),
  "types of a schema": (size) => times(size, (at) => `type T${at} { a: Int }`),
  brackets: (size) => "{a".repeat(size),
  "brackets of lists": (size) => `{ satisfy(request: ${"[".repeat(size)}`,
  "questions about the schema": (size) =>
    `{ ${times(size / 8, (at) => `a${at}: __schema { types { fields { args { name } } } }`)} }`,
};

function times(count: number, text: (at: number) => string): string {
  return Array.from({ length: Math.ceil(count) }, (_, at) => text(at)).join(" ");
}
