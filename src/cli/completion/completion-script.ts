import { type CommandNode, type FlagNode, flatten } from "./command-tree.ts";

/**
 * Completion scripts, written out in full: pressing Tab starts no program, unless the completion needs ids or names that only the server
 * knows. After "--", and where a flag accepts any value, shells fall back to file names.
 */
export function bashScript(root: CommandNode): string {
  const nodes = flatten(root);
  const steps = nodes
    .filter((node) => node !== root)
    .map((node) => `      ${quote(node.path)}) at=${quote(node.path)} ;;`);
  const values = nodes.flatMap((node) =>
    node.flags
      .filter((flag) => flag.takesValue)
      .map((flag) => {
        const patterns = namesOf(flag).map((name) => quote(`${node.path} ${name}`));
        const asked = flag.values === undefined ? "" : `; values=${flag.values}`;
        return `    ${patterns.join("|")}) words=${quote(flag.choices.join(" "))}${asked} ;;`;
      }),
  );
  const lists = nodes.map((node) => {
    const words = [...node.commands.map((each) => each.name), ...node.words].join(" ");
    const flags = node.flags.flatMap(namesOf).join(" ");
    const asked = node.values ?? "";
    const none = node.takesArguments ? "" : "; compopt +o default 2>/dev/null";
    return `    ${quote(node.path)}) words=${quote(words)} flags=${quote(flags)} values=${quote(asked)}${none} ;;`;
  });
  return `# Completion of busbar for bash. Load it with: source <(busbar completion bash)
_busbar_values() {
  "\${COMP_WORDS[0]}" \${server:+--server "$server"} completion --values "$1" 2>/dev/null </dev/null
}
_busbar() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD - 1]}"
  local at='${root.name}' words='-' flags='' values='' server='' index
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    if [[ \${COMP_WORDS[index]} == -- ]]; then return; fi
    if [[ \${COMP_WORDS[index]} == --server ]]; then server="\${COMP_WORDS[index + 1]}"; fi
    case "$at \${COMP_WORDS[index]}" in
${steps.join("\n")}
    esac
  done
  case "$at $previous" in
${values.join("\n")}
  esac
  if [[ $words != - ]]; then
    if [[ -n $values ]]; then words="$(_busbar_values "$values")"; fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  case "$at" in
${lists.join("\n")}
  esac
  if [[ $current == -* ]]; then words="$flags"
  elif [[ -n $values ]]; then words="$words $(_busbar_values "$values")"; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _busbar ${root.name}
`;
}

export function zshScript(root: CommandNode): string {
  const nodes = flatten(root);
  const steps = nodes
    .filter((node) => node !== root)
    .map((node) => `      ${quote(node.path)}) at=${quote(node.path)} ;;`);
  const values = nodes.flatMap((node) =>
    node.flags
      .filter((flag) => flag.takesValue)
      .map((flag) => {
        const patterns = namesOf(flag).map((name) => quote(`${node.path} ${name}`));
        const choices = flag.choices.map(quote).join(" ");
        const known = choices === "" ? "_files" : `compadd -- ${choices}`;
        const action = flag.values === undefined ? known : `_busbar_values ${flag.values}`;
        return `    ${patterns.join("|")}) ${action}; return ;;`;
      }),
  );
  const lists = nodes.map((node) => {
    const words = [...node.commands.map(described), ...node.words].map(quote).join(" ");
    const flags = node.flags.flatMap((flag) =>
      namesOf(flag).map((name) => quote(described({ name, summary: flag.summary }))),
    );
    const asked = node.values ?? "";
    const files = node.takesArguments ? "; files=1" : "";
    return `    ${quote(node.path)}) names=(${words}) flags=(${flags.join(" ")}) values=${quote(asked)}${files} ;;`;
  });
  return `#compdef busbar
# Completion of busbar for zsh. Load it with: source <(busbar completion zsh)
_busbar_values() {
  compadd -V "$1" -- \${(f)"$("\${words[1]}" \${server:+--server} \${server} completion --values "$1" 2>/dev/null </dev/null)"}
}
_busbar() {
  local at='${root.name}' values='' server='' files='' index
  local -a names flags
  local current="\${words[CURRENT]}" previous="\${words[CURRENT-1]}"
  for ((index = 2; index < CURRENT; index++)); do
    if [[ \${words[index]} == -- ]]; then _files; return; fi
    if [[ \${words[index]} == --server ]]; then server="\${words[index+1]}"; fi
    case "$at \${words[index]}" in
${steps.join("\n")}
    esac
  done
  case "$at $previous" in
${values.join("\n")}
  esac
  case "$at" in
${lists.join("\n")}
  esac
  if [[ $current == -* ]]; then
    _describe -o flag flags
  elif [[ -n $values ]]; then
    ((\${#names})) && _describe command names
    _busbar_values $values
  elif ((\${#names})); then
    _describe command names
  elif [[ -n $files ]]; then
    _files
  fi
}
if [[ \${funcstack[1]} == _busbar ]]; then _busbar "$@"; else compdef _busbar ${root.name}; fi
`;
}

export function fishScript(root: CommandNode): string {
  const nodes = flatten(root);
  const paths = nodes.filter((node) => node !== root).map((node) => quote(node.path));
  return `# Completion of busbar for fish. Load it with: busbar completion fish | source
function __busbar_at
  set -l words (commandline -opc)
  set -e words[1]
  set -l at ${root.name}
  for word in $words
    if test "$word" = --
      return
    end
    switch "$at $word"
      case ${paths.join(" ")}
        set at "$at $word"
    end
  end
  echo $at
end
function __busbar_is
  test "$(__busbar_at)" = "$argv"
end
function __busbar_values
  set -l words (commandline -opc)
  set -l server
  set -l previous
  for word in $words
    if test "$previous" = --server
      set server --server $word
    end
    set previous $word
  end
  $words[1] $server completion --values $argv[1] 2>/dev/null </dev/null
end
${nodes.flatMap((node) => fishLines(root.name, node)).join("\n")}
`;
}

function fishLines(program: string, node: CommandNode): string[] {
  const start = `complete -c ${program} -n ${quote(`__busbar_is ${node.path}`)}`;
  const { commands, words, values, takesArguments } = node;
  const hasNoFiles = !takesArguments || commands.length + words.length > 0 || values !== undefined;
  return [
    ...(hasNoFiles ? [`${start} -f`] : []),
    ...commands.map(({ name, summary }) => `${start} -a ${name} -d ${quote(summary)}`),
    ...words.map((word) => `${start} -a ${word}`),
    // In the order of the server: the newest jobs first.
    ...(values === undefined ? [] : [`${start} -k -a ${quote(asking(values))}`]),
    ...node.flags.map((flag) => fishFlag(start, flag)),
  ];
}

/** fish runs what stands in parentheses when Tab is pressed. */
const asking = (kind: string): string => `(__busbar_values ${kind})`;

function fishFlag(start: string, flag: FlagNode): string {
  const short = flag.short === undefined ? "" : ` -s ${flag.short.slice(1)}`;
  const words = flag.values === undefined ? flag.choices.join(" ") : asking(flag.values);
  const choices = words === "" ? " -r -F" : ` -x -a ${quote(words)}`;
  const value = flag.takesValue ? choices : "";
  return `${start} -l ${flag.long.slice(2)}${short}${value} -d ${quote(flag.summary)}`;
}

const namesOf = ({ long, short }: FlagNode): readonly string[] =>
  short === undefined ? [long] : [long, short];

/** zsh splits "name:description" at the colon. */
const described = ({
  name,
  summary,
}: {
  readonly name: string;
  readonly summary: string;
}): string => `${name}:${summary.replaceAll(":", "\\:")}`;

/** For all three shells: inside single quotes only the quote itself needs escaping. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
