import {
  type Alias,
  Composer,
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  Parser,
} from "yaml";
import { plainWords } from "./plain-words.ts";
import { NestingMeter } from "./yaml-nesting.ts";

export interface YamlShape {
  readonly depthMax: number;
  readonly documentsMax: number;
  /** Scalars, lists and maps in all. */
  readonly valuesMax: number;
}

/** A document of a text and the values of its aliases. */
export interface YamlDocument {
  readonly document: Document;
  /** The value of each alias: the last value above it with that name. */
  readonly meant: ReadonlyMap<Alias, Node>;
}

/** The documents of a text, or the first problem of the text with its position. */
export type YamlDocuments =
  | {
      readonly kind: "documents";
      readonly documents: readonly YamlDocument[];
      readonly lines: LineCounter;
    }
  | {
      readonly kind: "broken";
      readonly offset: number;
      readonly message: string;
      readonly lines: LineCounter;
    };

/**
 * The documents of a YAML or JSON text; empty ones, as a trailing "---" leaves, are left out. The cost is linear in the length of the text:
 * see docs/design/documents.md for the costs of the library alone.
 */
export function parseYamlDocuments(text: string, shape: YamlShape): YamlDocuments {
  const lines = new LineCounter();
  // The library makes an Error of each mistake; its stack is of no use.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    const documents: YamlDocument[] = [];
    for (const document of compose(text, shape, lines)) {
      const [problem] = document.errors;
      if (problem !== undefined) {
        throw new Refused(problem.pos[0], plainWords(firstLine(problem.message)));
      }
      const indexed = { document, meant: indexOf(document) };
      if (!isEmpty(document)) documents.push(indexed);
    }
    return { kind: "documents", documents, lines };
  } catch (error) {
    if (error instanceof Refused) {
      const { offset, message } = tabBefore(text, error) ?? error;
      return { kind: "broken", offset, message, lines };
    }
    // The library reports problems of a text as data. It throws only when the stack overflows.
    if (!(error instanceof RangeError)) throw error;
    return { kind: "broken", offset: 0, message: tooDeep(shape.depthMax), lines };
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Thrown and caught in this file only. */
class Refused extends Error {
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

/** A key below "- " that is indented with a tab: the library misses only what its colon belongs to. */
function tabBefore(text: string, { offset, message }: Refused) {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  if (!message.startsWith('":" is not expected here') || !/^ *\t/.test(text.slice(start, offset)))
    return undefined;
  return { offset: start, message: "is indented with a tab; use blanks" };
}

const tooDeep = (depthMax: number): string => `is nested more than ${depthMax} deep`;

/** Lexemes of one value: a line end, an indentation, a mark, the text, a colon, a blank. */
const LEXEMES_PER_VALUE = 8;
const DIRECTIVES_MAX = 100;

/**
 * Drives the library's lexer, parser and composer lexeme by lexeme, so that each bound is checked before the next step costs anything.
 * Blank lines and comment lines never reach the parser: it would read all of them again for each line that follows.
 */
function* compose(text: string, shape: YamlShape, lines: LineCounter): Generator<Document> {
  const composer = new Composer({ uniqueKeys: false, resolveKnownTags: false });
  const parser = new Parser(lines.addNewLine);
  const meter = new Meter(shape);
  lines.addNewLine(0);
  /** The beginning of a line that may turn out to be blank. */
  let blanks = "";
  let isComment = false;
  for (const lexeme of new Lexer().lex(text)) {
    const isTrivial = meter.isAtLineStart && !meter.isText;
    if (isTrivial && isLineEnd(lexeme)) {
      parser.offset += blanks.length + lexeme.length;
      lines.addNewLine(parser.offset);
      blanks = "";
      isComment = false;
    } else if (isTrivial && (isBlank(lexeme) || lexeme.startsWith("#"))) {
      blanks += lexeme;
      isComment ||= lexeme.startsWith("#");
    } else {
      meter.read(lexeme, blanks.length, parser.offset + blanks.length);
      if (isComment) parser.offset += blanks.length;
      else if (blanks !== "") yield* feed(parser, composer, blanks);
      blanks = "";
      isComment = false;
      yield* feed(parser, composer, lexeme);
    }
  }
  for (const token of parser.end()) yield* composer.next(token);
  yield* composer.end();
}

function* feed(parser: Parser, composer: Composer, lexeme: string): Generator<Document> {
  for (const token of parser.next(lexeme)) {
    if (token.type === "error") {
      throw new Refused(token.offset, plainWords(firstLine(token.message)));
    }
    yield* composer.next(token);
  }
}

const isLineEnd = (lexeme: string): boolean => lexeme === "\n" || lexeme === "\r\n";
const isBlank = (lexeme: string): boolean => lexeme.startsWith(" ") || lexeme.startsWith("\t");

/** The lexer's mark that the next lexeme is text, whatever its characters are. */
const SCALAR = "\u001f";
/** The lexer's mark that a document begins. */
const DOCUMENT = "\u0002";

/** Counts values while the text is parsed, and stops at the first one beyond a limit. */
class Meter {
  /** Whether the next lexeme is text. */
  isText = false;
  isAtLineStart = true;
  readonly #shape: YamlShape;
  readonly #nesting = new NestingMeter();
  #column = 0;
  #lexemes = 0;
  #values = 0;
  #documents = 0;
  #directives = 0;

  constructor(shape: YamlShape) {
    this.#shape = shape;
  }

  /** `blanks`: the number of blanks before it, at the beginning of its line. */
  read(lexeme: string, blanks: number, offset: number): void {
    const { valuesMax } = this.#shape;
    if (++this.#lexemes > LEXEMES_PER_VALUE * (valuesMax + 1)) {
      throw new Refused(offset, `more than ${LEXEMES_PER_VALUE * valuesMax} marks and values`);
    }
    this.#column += blanks;
    if (!this.isText) this.#readMark(lexeme, offset);
    else {
      this.isText = false;
      // For a text of several lines, the last line counts; an empty one changes nothing.
      if (lexeme !== "") this.isAtLineStart = lexeme.endsWith("\n");
    }
    if (isMark(lexeme)) return;
    const end = lexeme.lastIndexOf("\n");
    this.#column = end === -1 ? this.#column + lexeme.length : lexeme.length - end - 1;
  }

  #readMark(lexeme: string, offset: number): void {
    const { valuesMax, documentsMax, depthMax } = this.#shape;
    this.isText = lexeme === SCALAR;
    const isValue = this.isText || VALUE_STARTS.has(lexeme.charAt(0));
    if (isValue) this.#values += 1;
    if (this.#values > valuesMax) {
      throw new Refused(offset, `more than ${valuesMax} values, with aliases`);
    }
    if (lexeme === "---" || lexeme === DOCUMENT) {
      this.#nesting.clear();
      if (++this.#documents > documentsMax) {
        throw new Refused(offset, `more than ${documentsMax} documents`);
      }
    } else if (lexeme.startsWith("%") && ++this.#directives > DIRECTIVES_MAX) {
      throw new Refused(offset, `more than ${DIRECTIVES_MAX} directives`);
    } else if (!isBlank(lexeme) && !isLineEnd(lexeme)) {
      const depth = this.#nesting.read(lexeme, this.#column, isValue);
      if (depth > depthMax) throw new Refused(offset, tooDeep(depthMax));
    }
    // A mark of text does not show what the line holds: the text itself does.
    if (!isMark(lexeme)) this.isAtLineStart = isLineEnd(lexeme);
  }
}

const isMark = (lexeme: string): boolean => lexeme === SCALAR || lexeme === DOCUMENT;

const VALUE_STARTS: ReadonlySet<string> = new Set(['"', "'", "*", "[", "{"]);

const isEmpty = ({ contents }: Document): boolean =>
  contents === null || (isScalar(contents) && contents.value === null);

/** One walk over a document: resolves its aliases, and rejects duplicate keys of a map. */
function indexOf(document: Document): ReadonlyMap<Alias, Node> {
  const anchors = new Map<string, Node>();
  const meant = new Map<Alias, Node>();
  const keyOf = (key: unknown): string | undefined => {
    const node = isAlias(key) ? meant.get(key) : key;
    if (!isScalar(node)) return undefined;
    return typeof node.value === "string" ? node.value : (node.source ?? "");
  };
  const walk = (node: unknown): void => {
    if (isAlias(node)) {
      const target = anchors.get(node.source);
      if (target !== undefined) meant.set(node, target);
      return;
    }
    if (isPair(node)) {
      walk(node.key);
      walk(node.value);
      return;
    }
    if (!isScalar(node) && !isSeq(node) && !isMap(node)) return;
    if (node.anchor !== undefined) anchors.set(node.anchor, node);
    if (isSeq(node)) for (const item of node.items) walk(item);
    if (!isMap(node)) return;
    const keys = new Set<string>();
    for (const { key, value } of node.items) {
      walk(key);
      const name = keyOf(key);
      if (name !== undefined) {
        const offset = (key as Node).range?.[0] ?? 0;
        if (keys.has(name)) throw new Refused(offset, twice(name));
        keys.add(name);
      }
      walk(value);
    }
  };
  walk(document.contents);
  return meant;
}

/** The library's messages quote text that it does not understand, however long it is. */
const MESSAGE_CHARS_MAX = 300;

const firstLine = (text: string): string =>
  (text.split("\n", 1)[0] ?? text).slice(0, MESSAGE_CHARS_MAX);

/** Of a long key only its beginning is shown. */
const twice = (name: string): string =>
  `the key ${JSON.stringify(name.slice(0, 40))} is there twice; keep one of them`;
