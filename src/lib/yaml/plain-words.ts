/** The library's message about an invalid text, in words for people who do not know YAML's grammar. */
export function plainWords(message: string): string {
  for (const [pattern, words] of WORDS) {
    const found = pattern.exec(message);
    if (found !== null) return words.replace("$1", kindOf(found[1] ?? ""));
  }
  return message;
}

const kindOf = (name: string): string => KINDS[name] ?? `"${name}"`;

/** The library's names for parts of a text. */
const KINDS: Readonly<Record<string, string>> = {
  "flow-seq-start": '"["',
  "flow-seq-end": '"]"',
  "flow-map-start": '"{"',
  "flow-map-end": '"}"',
  "block-map": "a key with a value",
  "block-seq": 'a list item ("- ")',
  "block-scalar": 'a text after "|" or ">"',
  "block-map-ind": '":"',
  "map-value-ind": '":"',
  "seq-item-ind": '"-"',
  "explicit-key-ind": '"?"',
  "double-quoted-scalar": "a text in quotes",
  "single-quoted-scalar": "a text in quotes",
  scalar: "a text",
  comma: '","',
  alias: "an alias",
  "flow sequence": "[...]",
  "flow map": "{...}",
  "flow collection": "a list or map in brackets",
};

/** The first match counts. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [
    /^Nested mappings are not allowed in compact/,
    'two keys in one line, or a key that is indented too far; put "..." around a value that has ": " in it',
  ],
  [
    /^(?:All mapping items|All sequence items) must start at the same column/,
    "is indented differently from its neighbours above; begin it in the same column",
  ],
  [
    /^Flow end indicator should be more indented/,
    "a closing bracket must not begin further left than the list or map around it",
  ],
  [
    /^Block scalar values in collections must be indented/,
    'begin the text below "|" or ">" further right than its key',
  ],
  [/^Unsupported YAML version/, "is no version of YAML; leave the line out"],
  [/^Missing directives-end/, 'a line "---" is missing after the lines that begin with "%"'],
  [/^Tabs are not allowed/, "is indented with a tab; use blanks"],
  [/^Missing closing ["']quote/, "a quote that was opened above is not closed"],
  [
    /sequence in block collection must be .*end with a \]/,
    'a "[" above is not closed; write "]" after its last item',
  ],
  [
    /map in block collection must be .*end with a \}/,
    'a "{" above is not closed; write "}" after its last entry',
  ],
  [
    /^Flow sequence .*expected.* \]|must end with a \]/,
    'a "[" above is not closed; write "]" after its last item',
  ],
  [
    /^Flow map .*expected.* \}|must end with a \}/,
    'a "{" above is not closed; write "}" after its last entry',
  ],
  [
    /^Flow (?:sequence|map) in block collection must be/,
    "is not indented; begin it further right than its key",
  ],
  [
    /^Implicit keys need to be on a single line/,
    'is neither "key: value" nor a further line of the value above',
  ],
  [
    /^Implicit map keys need to be followed by map values/,
    'is a key without a value; write ": " after it',
  ],
  [
    /^Plain value cannot start with .*character ([^ ]+)$/,
    "a text that begins with $1 needs quotes around it",
  ],
  [/^Missing , (?:or : )?between/, 'a "," is missing before this'],
  [/^Missing space after :/, 'a blank is missing after ":"'],
  [/^Unexpected , in/, 'a "," too many'],
  [/^Unexpected empty item in/, 'there is nothing between two ","'],
  [
    /^Unexpected ([\w-]+)(?: token in YAML stream.*)? at node end/,
    "$1 is not expected here, after the end of a value",
  ],
  [/^Unexpected ([\w-]+) token/, "$1 is not expected here; is one closed twice?"],
  [/^Unexpected ([\w-]+) in YAML stream/, "$1 is not expected here; is one closed twice?"],
  [
    /^Expected a flow scalar value, but found: ([\w-]+)/,
    "a text or number is expected here, not $1",
  ],
  [
    /^Invalid escape sequence (.*)$/,
    "$1 means nothing between double quotes; use single quotes, or two backslashes",
  ],
  [/^Comments must be separated/, 'a blank is missing before "#"'],
  [/^Sequence item without - indicator/, 'is an item of a list; begin it with "- "'],
  [
    /^Block collections? (?:are|is) not allowed within flow/,
    "inside [ ] or { } write items with commas, all in brackets",
  ],
  [
    /^Unresolved tag: (.*)$/,
    'the tag $1 is not known; put "..." around a value that begins with "!"',
  ],
  [/^Block scalar header includes extra characters/, 'begin the text in the line below "|" or ">"'],
  [/^Document (?:is not|contains|with)/, "is no document"],
];
