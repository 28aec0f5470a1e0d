# zsh -f offered-by-zsh.zsh SCRIPT LINE...: prints for each line what an interactive zsh that has loaded
# the completion script offers when Tab is pressed after it, on one line.
zmodload zsh/zpty
zpty shell zsh -f -i
await() { zpty -r -m shell REPLY "*$1*" }
zpty -w shell 'PS1= PS2= TERM=dumb; unsetopt zle_bracketed_paste; stty -echo; setopt no_beep'
zpty -w shell "autoload -Uz compinit; compinit -D -u; source ${(q)1}"
# Every match passes through compadd; calls that only fill arrays are passed on as they are.
zpty -w shell 'compadd() {
  if [[ " ${@[1,(i)(-|--)]} " == *" -"[OAD]" "* ]]; then builtin compadd "$@"; return; fi
  local -a found; builtin compadd -O found "$@"; print -rl -- "@hit "${^found}; builtin compadd "$@"
}
after() { comppostfuncs=(after); print -r -- "@done"; compstate[insert]=; compstate[list]= }
comppostfuncs=(after); print @rea""dy'
await @ready
shift
for line; do
  zpty -w -n shell "$line"$'\t'
  await @done
  print -r -- "$REPLY" | tr -d '\r' | sed -n 's/.*@hit //p' | tr '\n' ' '
  print
  zpty -w -n shell $'\C-u'
done
zpty -d shell
