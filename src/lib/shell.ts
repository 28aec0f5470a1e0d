/** Words with a special meaning in the position of a command. */
const RESERVED = new Set(
  "case coproc do done elif else esac fi for function if in select then time until while".split(
    " ",
  ),
);

/** One word for a POSIX shell, quoted where necessary, so that the shell passes it on unchanged. */
export function quoteShell(word: string): string {
  const isPlain = /^[\w@%+=:,./-]+$/.test(word) && !/^\w+=/.test(word) && !RESERVED.has(word);
  return isPlain ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A command line that a POSIX shell splits into these words again. */
export const joinShell = (words: readonly string[]): string => words.map(quoteShell).join(" ");

/** Builtins of shells; each shell differs a little from the program of that name. */
const BUILT_IN = new Set(
  (
    ". : [ alias bg break cd chdir command continue echo eval exec exit export false fc fg getopts " +
    "hash jobs kill let local printf pwd read readonly return set shift source test times trap " +
    "true type typeset ulimit umask unalias unset wait"
  ).split(" "),
);

/** A line that runs a program with its arguments, never the shell's builtin of that name. */
export function commandLine(argv: readonly string[], variables: readonly string[] = []): string {
  const [program = ""] = argv;
  const isPlain = !BUILT_IN.has(program) && variables.length === 0;
  if (isPlain) return joinShell(argv);
  // env would read a program name with "=" as an assignment.
  const words = program.includes("=") ? ["/bin/sh", "-c", 'exec "$@"', "sh", ...argv] : argv;
  return joinShell(["env", ...variables, ...words]);
}

/**
 * The words of a line by the quoting rules of a POSIX shell. No other features of a shell: no variables, no wildcards, no pipes. undefined:
 * a quote or a backslash is unfinished.
 */
export function splitShell(line: string): readonly string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at] ?? "";
    if (quote === "'") {
      if (character === "'") quote = "";
      else word = (word ?? "") + character;
    } else if (character === "\\") {
      at += 1;
      const next = line[at];
      if (next === undefined) return undefined;
      // Within double quotes a backslash only escapes characters that are special there.
      const isItself = quote === '"' && next !== '"' && next !== "\\";
      word = (word ?? "") + (isItself ? character : "") + next;
    } else if (quote === '"') {
      if (character === '"') quote = "";
      else word = (word ?? "") + character;
    } else if (character === "'" || character === '"') {
      quote = character;
      word ??= "";
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? "") + character;
    }
  }
  if (quote !== "") return undefined;
  return word === undefined ? words : [...words, word];
}
