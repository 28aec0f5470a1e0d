import { type Document, Lexer, LineCounter, parseAllDocuments } from "yaml";

export interface YamlDocuments {
  readonly documents: readonly Document[];
  readonly lines: LineCounter;
}

/**
 * The documents of a YAML or JSON text, as the parser gives them: what is wrong with one is in its
 * `errors`. undefined: it is nested more than `depthMax` deep, which was found before it cost
 * anything.
 */
export function parseYamlDocuments(text: string, depthMax: number): YamlDocuments | undefined {
  if (isNestedDeeper(text, depthMax)) return undefined;
  const lines = new LineCounter();
  try {
    const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false });
    return { documents: "empty" in documents ? [] : documents, lines };
  } catch {
    // It reports what is wrong with a file as data, and throws only when the stack ends.
    return undefined;
  }
}

/**
 * Stops at the first place that is too deep. The parser would work for half a minute on a file of
 * nothing but brackets; the lexer only reads as far as it is asked to.
 */
function isNestedDeeper(text: string, depthMax: number): boolean {
  let brackets = 0;
  let indicators = 0; // "- - -" and "? ? ?" nest within one line
  let isScalar = false;
  for (const token of new Lexer().lex(text)) {
    const opens = !isScalar && (token === "[" || token === "{");
    const closes = !isScalar && (token === "]" || token === "}");
    if (opens) brackets += 1;
    if (closes) brackets = Math.max(0, brackets - 1);
    if (token.startsWith("\n")) indicators = 0;
    else if (!isScalar && (token === "-" || token === "?")) indicators += 1;
    if (brackets > depthMax || indicators > depthMax) return true;
    isScalar = token === SCALAR;
  }
  return false;
}

/** The lexer's mark that the next token is text, whatever it looks like. */
const SCALAR = "\u001f";

export const firstLine = (text: string): string => text.split("\n", 1)[0] ?? text;
