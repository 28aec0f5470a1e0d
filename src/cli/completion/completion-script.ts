import { type CommandNode, type FlagNode, flatten } from "./command-tree.ts";

/**
 * Completion scripts, written out in full: pressing Tab must not start a program. After "--", and
 * where a flag's value can be anything, shells fall back to file names.
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
        return `    ${patterns.join("|")}) words=${quote(flag.choices.join(" "))} ;;`;
      }),
  );
  const lists = nodes.map((node) => {
    const words = [...node.commands.map((each) => each.name), ...node.words].join(" ");
    const flags = node.flags.flatMap(namesOf).join(" ");
    return `    ${quote(node.path)}) words=${quote(words)} flags=${quote(flags)} ;;`;
  });
  return `# Completion of busbar for bash. Load it with: source <(busbar completion bash)
_busbar() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD - 1]}"
  local at='${root.name}' words='-' flags='' index
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    if [[ \${COMP_WORDS[index]} == -- ]]; then return; fi
    case "$at \${COMP_WORDS[index]}" in
${steps.join("\n")}
    esac
  done
  case "$at $previous" in
${values.join("\n")}
  esac
  if [[ $words != - ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  case "$at" in
${lists.join("\n")}
  esac
  if [[ $current == -* ]]; then words="$flags"; fi
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
        const action = choices === "" ? "_files" : `compadd -- ${choices}`;
        return `    ${patterns.join("|")}) ${action}; return ;;`;
      }),
  );
  const lists = nodes.map((node) => {
    const words = [...node.commands.map(described), ...node.words].map(quote).join(" ");
    const flags = node.flags.flatMap((flag) =>
      namesOf(flag).map((name) => quote(described({ name, summary: flag.summary }))),
    );
    return `    ${quote(node.path)}) names=(${words}) flags=(${flags.join(" ")}) ;;`;
  });
  return `#compdef busbar
# Completion of busbar for zsh. Load it with: source <(busbar completion zsh)
_busbar() {
  local at='${root.name}' index
  local -a names flags
  local current="\${words[CURRENT]}" previous="\${words[CURRENT-1]}"
  for ((index = 2; index < CURRENT; index++)); do
    if [[ \${words[index]} == -- ]]; then _files; return; fi
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
  elif ((\${#names})); then
    _describe command names
  else
    _files
  fi
}
if [[ \${funcstack[1]} == _busbar ]]; then _busbar "$@"; else compdef _busbar ${root.name}; fi
`;
}

export function fishScript(root: CommandNode): string {
  const lines = [
    "# Completion of busbar for fish. Load it with: busbar completion fish | source",
    ...root.commands.map(
      (each) =>
        `complete -c ${root.name} -f -n __fish_use_subcommand -a ${each.name} -d ${quote(each.summary)}`,
    ),
    ...root.flags.map((flag) => fishFlag(root.name, "__fish_use_subcommand", flag)),
  ];
  for (const node of root.commands) {
    const seen = `__fish_seen_subcommand_from ${node.name}`;
    const names = node.commands.map((each) => each.name).join(" ");
    const alone = names === "" ? seen : `${seen}; and not __fish_seen_subcommand_from ${names}`;
    for (const each of node.commands) {
      lines.push(
        `complete -c ${root.name} -f -n ${quote(alone)} -a ${each.name} -d ${quote(each.summary)}`,
      );
      const both = `${seen}; and __fish_seen_subcommand_from ${each.name}`;
      lines.push(...each.flags.map((flag) => fishFlag(root.name, both, flag)));
    }
    for (const word of node.words)
      lines.push(`complete -c ${root.name} -f -n ${quote(seen)} -a ${word}`);
    lines.push(...node.flags.map((flag) => fishFlag(root.name, alone, flag)));
  }
  return `${lines.join("\n")}\n`;
}

function fishFlag(program: string, condition: string, flag: FlagNode): string {
  const short = flag.short === undefined ? "" : ` -s ${flag.short.slice(1)}`;
  const choices = flag.choices.length === 0 ? " -r" : ` -x -a ${quote(flag.choices.join(" "))}`;
  const value = flag.takesValue ? choices : "";
  const names = `-l ${flag.long.slice(2)}${short}`;
  return `complete -c ${program} -n ${quote(condition)} ${names}${value} -d ${quote(flag.summary)}`;
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

/** For all three shells: inside single quotes only the quote itself needs care. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
