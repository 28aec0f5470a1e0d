/**
 * The first simple command of a line, in words, as a POSIX shell splits it. It ends at a pipe, a redirection, a list or a comment.
 * Variables and substitutions stay as written.
 */
export function shellWords(line: string): readonly string[] {
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < line.length; at += 1) {
    const char = line[at]!;
    if (char === "'" || char === '"') {
      const end = line.indexOf(char, at + 1);
      if (end < 0) break; // it continues in the next line
      word = (word ?? "") + line.slice(at + 1, end);
      at = end;
    } else if (char === "\\") {
      at += 1;
      word = (word ?? "") + (line[at] ?? "");
    } else if (char === " " || char === "\t") {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if ("|;&<>".includes(char) || (char === "#" && word === undefined)) {
      break;
    } else {
      word = (word ?? "") + char;
    }
  }
  if (word !== undefined) words.push(word);
  return words;
}
