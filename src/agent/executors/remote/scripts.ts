/**
 * What is run on a far machine. Constants: all that differs comes as an argument, so nothing a user
 * wrote is ever read as shell. In one directory of that machine each run has files that begin with
 * its key, and a directory to work in unless it named one:
 *
 *   17.3.1.state, .stdout, .stderr, .script, and marks: .stopping, .overtime, .known
 *   work.5fc1.12/   it may have served others before, which have left nothing in it
 *
 * `state` says, line by line, what became of the run; its last line is `end`. Whoever creates it has
 * the run (`set -C` makes that O_EXCL): a command that is sent twice runs once, and one that is
 * stopped before it was started never begins.
 *
 *   terms <sent at, ms> <output limit, bytes> <own directory, or -> <program>
 *   <the wrapper's line of /proc/self/stat>      who it is, so that it is told from a later process
 *   began <uptime, s>                            times by the machine's uptime: clocks may differ
 *   said                                         the shell had a word: a signal ended the command
 *   unstarted | nowhere | stopped                the command was not executed, and why
 *   ended <uptime, s> <exit code> | vanished <at, ms>
 *   end
 */

/** Prints what is known of a run. Variables have a prefix that is set by Busbar alone. */
const SHOW = `
busbar_show() {
  { while IFS= read -r BUSBAR_LINE; do
    case $BUSBAR_LINE in
      "terms "* | "began "* | "ended "* | "vanished "* | [0-9]* | unstarted | nowhere | stopped | end)
        printf '%s\\n' "$BUSBAR_LINE" ;;
      *) printf 'said\\n' ;;
    esac
  done <"$1.state"; } 2>/dev/null
}
`;

/** What a run's last line is, who leads its session, whether that lives, and how to end it. */
const LIBRARY = `${SHOW}
busbar_last() {
  BUSBAR_LINE=
  { while IFS= read -r BUSBAR_NEXT; do BUSBAR_LINE=$BUSBAR_NEXT; done <"$1.state"; } 2>/dev/null
}
busbar_leader() {
  BUSBAR_PID= BUSBAR_TICKS=
  { while IFS= read -r BUSBAR_LINE; do
    case $BUSBAR_LINE in [0-9]*)
      BUSBAR_PID=\${BUSBAR_LINE%% *}
      set -- \${BUSBAR_LINE##*) }
      BUSBAR_TICKS=\${20}
      return 0 ;;
    esac
  done <"$1.state"; } 2>/dev/null
  return 1
}
busbar_alive() {
  { read -r BUSBAR_LINE <"/proc/$BUSBAR_PID/stat"; } 2>/dev/null || return 1
  set -- \${BUSBAR_LINE##*) }
  [ "\${20}" = "$BUSBAR_TICKS" ] && [ "$1" != Z ] && [ "$1" != X ]
}
busbar_signal() {
  BUSBAR_FOUND=1
  if { read -r BUSBAR_LINE <"/proc/$BUSBAR_PID/stat"; } 2>/dev/null; then
    set -- "$1" \${BUSBAR_LINE##*) }
    [ "\${21}" = "$BUSBAR_TICKS" ] || return 1
  fi
  for BUSBAR_AT in /proc/[0-9]*; do
    { read -r BUSBAR_LINE <"$BUSBAR_AT/stat"; } 2>/dev/null || continue
    set -- "$1" \${BUSBAR_LINE##*) }
    [ "$5" = "$BUSBAR_PID" ] && [ "$2" != Z ] && [ "$2" != X ] || continue
    [ "\${BUSBAR_AT#/proc/}" = "$BUSBAR_PID" ] && continue
    BUSBAR_FOUND=0
    kill -"$1" "\${BUSBAR_AT#/proc/}" 2>/dev/null
  done
  return $BUSBAR_FOUND
}
busbar_nap() { sleep 0.1 2>/dev/null || sleep 1; }
busbar_end_session() {
  BUSBAR_NAPS=$2
  busbar_signal TERM
  while busbar_signal 0; do
    [ "$BUSBAR_NAPS" -gt 0 ] || { busbar_signal KILL; [ "$BUSBAR_NAPS" -gt -300 ] || return 1; }
    BUSBAR_NAPS=$((BUSBAR_NAPS - 1))
    busbar_nap
  done
}
`;

/**
 * It is kept on the machine, as it is run most often, and read from there (see RUN_START): what is
 * sent for a run, and sent back with its end, is short.
 *
 * The file that it is read from comes first, then what the names of the run's files begin with. Then:
 * $1: terms. $2: the directory to work in. $3: whether that is the run's own, 1 or 0. $4: WATCHDOG, or
 * empty. $5: time limit, s. $6: grace, in naps. $7: output limit, bytes. $8: how many pieces of a
 * script, which follow. $9: how many variables, which follow them. Then the command. What the shell
 * says of a command that it cannot execute begins with its $0.
 *
 * - Started by setsid(1), it leads a session of its own, which ends with it.
 * - Signals are caught, not ignored: the shell survives a TERM to the group and records the real
 *   exit code, and what is caught is reset to default in the command.
 * - The command replaces a subshell by `exec`. Only when that fails does the subshell reach its EXIT
 *   trap: this tells "not found" from a program that itself exits with 127. bash does not reach it
 *   when exec fails, so there it is asked before; a script whose interpreter is missing exits with
 *   126 then.
 * - When a child dies by a signal the shell says so on its stderr, here the state file; for a child
 *   that merely exits with 137 it says nothing. That is how the two are told apart.
 * - What the far end sends back is what is printed here: the state, and the beginning of the output.
 */
export const START = `${SHOW}
busbar_empty() {
  [ -r "$1" ] && [ -w "$1" ] && [ -x "$1" ] || return 1
  for BUSBAR_AT in "$1"/* "$1"/.[!.]* "$1"/..?*; do
    [ ! -e "$BUSBAR_AT" ] && [ ! -L "$BUSBAR_AT" ] || return 1
  done
}
BUSBAR_RUN=$2
shift 2
set -C
trap : HUP INT QUIT ALRM TERM USR1 USR2
read -r BUSBAR_LINE </proc/self/stat
read -r BUSBAR_UPTIME BUSBAR_NEXT </proc/uptime
exec 9>"$BUSBAR_RUN.state" || exit 0
exec 9>>"$BUSBAR_RUN.state" 2>&9
printf '%s\\n%s\\nbegan %s\\n' "$1" "$BUSBAR_LINE" "$BUSBAR_UPTIME" >&9
if [ "$3" = 1 ] && ! { [ -d "$2" ] && busbar_empty "$2"; }; then
  [ ! -d "$2" ] || rm -rf -- "$2"
  mkdir "$2"
fi
BUSBAR_DOG=
if [ -n "$4" ]; then
  setsid /bin/sh -c "$4" "$BUSBAR_RUN" "$5" "$6" </dev/null >/dev/null 2>&1 9>&- &
  BUSBAR_DOG=$!
fi
(
  trap 'printf "unstarted\\n" >>"$BUSBAR_RUN.state"' EXIT
  BUSBAR_CWD=$2 BUSBAR_PIECES=$8 BUSBAR_COUNT=$9
  shift 9
  [ "$BUSBAR_PIECES" -eq 0 ] || { : >>"$BUSBAR_RUN.script"; chmod 700 "$BUSBAR_RUN.script"; }
  while [ "$BUSBAR_PIECES" -gt 0 ]; do
    printf %s "$1" >>"$BUSBAR_RUN.script"
    shift
    BUSBAR_PIECES=$((BUSBAR_PIECES - 1))
  done
  while [ "$BUSBAR_COUNT" -gt 0 ]; do
    export "$1"
    shift
    BUSBAR_COUNT=$((BUSBAR_COUNT - 1))
  done
  cd -- "$BUSBAR_CWD" >/dev/null 2>&1 || { printf 'nowhere\\n' >>"$BUSBAR_RUN.state"; exit 1; }
  unset BUSBAR_CWD BUSBAR_COUNT BUSBAR_PIECES BUSBAR_LINE BUSBAR_NEXT BUSBAR_UPTIME BUSBAR_DOG
  if [ -n "$BASH_VERSION" ]; then
    case $1 in
      */*) [ -e "$1" ] || exit 127; [ -f "$1" ] && [ -x "$1" ] || exit 126 ;;
      *) type -P -- "$1" >/dev/null 2>&1 || exit 127 ;;
    esac
  fi
  [ -e "$BUSBAR_RUN.stopping" ] || exec "$@" 9>&-
) </dev/null >>"$BUSBAR_RUN.stdout" 2>>"$BUSBAR_RUN.stderr"
BUSBAR_CODE=$?
read -r BUSBAR_UPTIME BUSBAR_NEXT </proc/uptime
printf 'ended %s %s\\nend\\n' "$BUSBAR_UPTIME" "$BUSBAR_CODE" >&9
exec 2>/dev/null
if [ -n "$BUSBAR_DOG" ]; then
  if [ -e "$BUSBAR_RUN.overtime" ]; then wait "$BUSBAR_DOG"; else kill -KILL "-$BUSBAR_DOG"; fi
fi
for BUSBAR_AT in stdout stderr; do
  [ -s "$BUSBAR_RUN.$BUSBAR_AT" ] || continue
  BUSBAR_SIZE=$(wc -c <"$BUSBAR_RUN.$BUSBAR_AT")
  [ "$BUSBAR_SIZE" -le "$(($7 + 1))" ] || truncate -s "$(($7 + 1))" "$BUSBAR_RUN.$BUSBAR_AT"
  printf '%s %s' "$BUSBAR_AT" "$((BUSBAR_SIZE))"
  od -An -v -tx1 -N24 "$BUSBAR_RUN.$BUSBAR_AT" | { IFS= read -r BUSBAR_LINE; IFS= read -r BUSBAR_NEXT
    printf '%s%s\\n' "$BUSBAR_LINE" "$BUSBAR_NEXT"; }
done
[ ! -e "$BUSBAR_RUN.overtime" ] || printf 'overtime\\n'
[ "$3" = 0 ] || [ -e "$BUSBAR_RUN.stopping" ] || ! busbar_empty "$2" || printf 'clean\\n'
busbar_show "$BUSBAR_RUN"
[ -e "$BUSBAR_RUN.stopping" ] || [ -e "$BUSBAR_RUN.overtime" ] || kill -KILL 0
`;

/** $1: the file that START is in, which has the other arguments. */
export const RUN_START = '. "$1"';

/** Keeps a script. $0: in which directory. $1: as which file. $2: the script. */
export const INSTALL = `
mkdir -p "$0" || exit 1
printf %s "$2" >"$0/$1.new" && mv "$0/$1.new" "$0/$1" && printf 'all\\n'
`;

/** Ends a run at its time limit. $1: the limit, s. $2: grace, in naps. */
export const WATCHDOG = `${LIBRARY}
sleep "$1"
: >"$0.overtime"
busbar_leader "$0" && busbar_end_session "$0" "$2"
`;

/**
 * $1: grace, in naps. $2: terms, should it not have begun. Ends when nothing of the run is left, and
 * prints its state.
 */
export const STOP = `${LIBRARY}
: >"$0.stopping"
( set -C; : >"$0.state" ) 2>/dev/null && printf '%s\\nstopped\\nend\\n' "$2" >"$0.state"
BUSBAR_NAPS=20
while ! busbar_leader "$0" && busbar_last "$0" && [ "$BUSBAR_LINE" != end ] && [ "$BUSBAR_NAPS" -gt 0 ]; do
  BUSBAR_NAPS=$((BUSBAR_NAPS - 1))
  busbar_nap
done
if busbar_leader "$0"; then
  busbar_end_session "$0" "$1"
  BUSBAR_NAPS=50
  while busbar_alive && [ "$BUSBAR_NAPS" -gt 0 ]; do
    busbar_last "$0"
    [ "$BUSBAR_LINE" != end ] || break
    BUSBAR_NAPS=$((BUSBAR_NAPS - 1))
    busbar_nap
  done
fi
busbar_show "$0"
`;

/**
 * Prints how runs stand whose ends are not known. $0: their directory. $1: the time, ms. Then which,
 * each with its output limit ("17.3.1 65536"), or none for all. A wrapper that is gone without a word has its session
 * ended, and that is written down: nobody else will. Outputs that have grown too long are cut.
 */
export const SURVEY = `${LIBRARY}
BUSBAR_NOW=$1
shift
cd -- "$0" || exit 1
[ $# -gt 0 ] || set -- *.state
for BUSBAR_RUN in "$@"; do
  BUSBAR_MOST=\${BUSBAR_RUN#* }
  BUSBAR_RUN=\${BUSBAR_RUN%% *}
  BUSBAR_RUN=\${BUSBAR_RUN%.state}
  [ -e "$BUSBAR_RUN.state" ] && [ ! -e "$BUSBAR_RUN.known" ] || continue
  printf 'run %s\\n' "$BUSBAR_RUN"
  [ ! -e "$BUSBAR_RUN.stopping" ] || printf 'stopping\\n'
  [ ! -e "$BUSBAR_RUN.overtime" ] || printf 'overtime\\n'
  busbar_last "$BUSBAR_RUN"
  if [ "$BUSBAR_LINE" = end ]; then
    :
  elif ! busbar_leader "$BUSBAR_RUN"; then
    printf 'claimed\\n'
  elif busbar_alive; then
    for BUSBAR_AT in stdout stderr; do
      case $BUSBAR_MOST in *[!0-9]* | "") continue ;; esac
      [ -s "$BUSBAR_RUN.$BUSBAR_AT" ] || continue
      [ "$(wc -c <"$BUSBAR_RUN.$BUSBAR_AT")" -le "$((BUSBAR_MOST + 1))" ] ||
        truncate -s "$((BUSBAR_MOST + 1))" "$BUSBAR_RUN.$BUSBAR_AT"
    done
  else
    busbar_last "$BUSBAR_RUN"
    if [ "$BUSBAR_LINE" != end ]; then
      busbar_end_session "$BUSBAR_RUN" 0
      printf 'vanished %s\\nend\\n' "$BUSBAR_NOW" >>"$BUSBAR_RUN.state"
    fi
  fi
  busbar_show "$BUSBAR_RUN"
done
printf 'all\\n'
`;

/** Gives up a run that was claimed by a wrapper that never said who it is. $1: the time, ms. */
export const BURY = `${LIBRARY}
busbar_leader "$0" || printf 'vanished %s\\nend\\n' "$1" >>"$0.state"
busbar_show "$0"
`;

/**
 * Prints a part of an output, in base64, behind a line of its size now, whether the run has ended,
 * and the run's terms. $1: stdout or stderr. $2: offset. $3: at most so many bytes. $4: how many naps
 * to wait for more. $5: whether the run is there, or will be.
 */
export const READ = `${LIBRARY}
[ "$5" = 1 ] || [ -e "$0.state" ] || exit 0
BUSBAR_NAPS=$4
while :; do
  BUSBAR_ENDED=0
  busbar_last "$0"
  [ "$BUSBAR_LINE" != end ] || BUSBAR_ENDED=1
  BUSBAR_SIZE=0
  [ ! -s "$0.$1" ] || BUSBAR_SIZE=$(wc -c <"$0.$1")
  [ "$BUSBAR_SIZE" -le "$2" ] && [ "$BUSBAR_ENDED" = 0 ] && [ "$BUSBAR_NAPS" -gt 0 ] || break
  BUSBAR_NAPS=$((BUSBAR_NAPS - 1))
  busbar_nap
done
BUSBAR_LINE=
{ IFS= read -r BUSBAR_LINE <"$0.state"; } 2>/dev/null
printf '%s %s %s\\n' "$((BUSBAR_SIZE))" "$BUSBAR_ENDED" "$BUSBAR_LINE"
[ "$BUSBAR_SIZE" -le "$2" ] || tail -c "+$(($2 + 1))" "$0.$1" | head -c "$3" | base64
`;
