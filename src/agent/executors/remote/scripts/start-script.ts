import { LIBRARY, SHOW } from "./run-scripts.ts";

/**
 * Runs one command after the other. It is kept on the machine, as it is run most often, and read from
 * there (see RUN_START): what is sent for a run, and sent back with its end, is short.
 *
 * $1: the file that this is in. $2: the directory of all runs. $3: the link that it was sent by. $4: the
 * number of this chain of runs there. $5: the keys of its runs. $6: WATCHDOG, or empty. $7: time limit,
 * hundredths of a second. $8: grace, in naps. $9: output limit, bytes. ${"$"}{10}: what marks processes of
 * runs. Then for each run: how many words tell of it, its key, its terms, the directory to work in,
 * whether that is its own (1 or 0), how many pieces of a script, how many variables; the pieces, the
 * variables, the command. What the shell says of a command that it cannot execute begins with its $0.
 *
 * - Started by setsid(1), it leads a session of its own. At most one command runs there at a time.
 * - A run is claimed, then the gate of its link must be open and its chain not shut, and then it has
 *   begun. Whoever closes the gate, or shuts the chain, and looks afterwards sees all that will ever begin.
 * - A run whose claim does not fit on the disk does not begin, and a script that does not is not run in part.
 * - What bash says of a locale that the machine lacks is no output of the command.
 * - Signals are caught, not ignored: the shell survives a TERM to the group and records the real
 *   exit code, and what is caught is reset to default in the command.
 * - The command replaces a subshell by \`exec\`. Only when that fails does the subshell reach its EXIT
 *   trap: this tells "not found" from a program that itself exits with 127. bash does not reach it
 *   when exec fails, so there it is asked before.
 * - When a child dies by a signal the shell says so on its stderr, here the state file; for a child
 *   that merely exits with 137 it says nothing. That is how the two are told apart.
 * - After a run that is stopped or over its time nothing begins: its session is being ended.
 * - What the far end sends back is what is printed here: states, and the beginnings of outputs, and
 *   \`all\`, without which it may have been killed, and there may be more.
 *   No program is run for that but wc(1), once, and od(1) for outputs that are long or no text.
 */
export const START = `${SHOW}
busbar_empty() {
  [ -r "$1" ] && [ -w "$1" ] && [ -x "$1" ] || return 1
  for BUSBAR_AT in "$1"/* "$1"/.[!.]* "$1"/..?*; do
    [ ! -e "$BUSBAR_AT" ] && [ ! -L "$BUSBAR_AT" ] || return 1
  done
}
busbar_head() {
  [ "$1" -le "$((BUSBAR_MOST + 1))" ] || truncate -s "$((BUSBAR_MOST + 1))" "$2"
  if [ "$1" -le 24 ]; then
    BUSBAR_NEXT=0
    IFS= read -r BUSBAR_LINE <"$2" && BUSBAR_NEXT=1
    case $BUSBAR_LINE in
      *[![:print:]]*) ;;
      *) [ "$((\${#BUSBAR_LINE} + BUSBAR_NEXT))" -ne "$1" ] || {
        printf 'output %s %s line %s %s\\n' "$2" "$1" "$BUSBAR_NEXT" "$BUSBAR_LINE"
        return
      } ;;
    esac
  fi
  printf 'output %s %s hex\\n' "$2" "$1"
  od -An -v -tx1 -N24 "$2"
}
BUSBAR_DIR=$2 BUSBAR_GATE=gate.$3 BUSBAR_SHUT=shut.$3.$4 BUSBAR_MOST=$9 BUSBAR_MARK=\${10}
cd -- "$BUSBAR_DIR" || exit 0
trap : HUP INT QUIT ALRM TERM USR1 USR2
read -r BUSBAR_WHO </proc/self/stat
read -r BUSBAR_BASE BUSBAR_NEXT </proc/uptime
BUSBAR_DOG=
if [ -n "$6" ]; then
  setsid /bin/sh -c "$6" "$BUSBAR_DIR" "$7" "$8" "$BUSBAR_MARK" $5 </dev/null >/dev/null 2>&1 &
  BUSBAR_DOG=$!
fi
shift 10
set -C
BUSBAR_OUTPUTS= BUSBAR_CUT= BUSBAR_OVER= BUSBAR_UPTIME=$BUSBAR_BASE
while [ $# -gt 0 ] && [ -z "$BUSBAR_CUT" ]; do
  BUSBAR_WORDS=$1 BUSBAR_ID=$2
  if { true >"$2.state"; } 2>/dev/null; then
    exec 9>>"$2.state" 2>&9
    printf '%s\\n%s\\n' "$3" "$BUSBAR_WHO" >&9 || { rm -f -- "$2.state"; break; }
    if [ ! -e "$BUSBAR_GATE" ] || [ -e "$BUSBAR_SHUT" ]; then
      rm -f -- "$2.state"
      break
    fi
    BUSBAR_BEGAN=$BUSBAR_UPTIME
    printf 'began %s %s\\n' "$BUSBAR_BEGAN" "$BUSBAR_BASE" >&9
    if [ "$5" = 1 ] && ! { [ -d "$4" ] && busbar_empty "$4"; }; then
      [ ! -d "$4" ] || rm -rf -- "$4"
      mkdir "$4"
    fi
    (
      trap 'printf "unstarted\\n" >>"$BUSBAR_DIR/$BUSBAR_ID.state"' EXIT
      BUSBAR_CWD=$4 BUSBAR_PIECES=$6 BUSBAR_COUNT=$7 BUSBAR_LATER=$(($# - BUSBAR_WORDS))
      shift 7
      [ "$BUSBAR_PIECES" -eq 0 ] || { : >>"$BUSBAR_ID.script"; chmod 700 "$BUSBAR_ID.script"; }
      while [ "$BUSBAR_PIECES" -gt 0 ]; do
        printf %s "$1" >>"$BUSBAR_ID.script" || { printf 'unwritten\\n' >>"$BUSBAR_ID.state"; exit 1; }
        shift
        BUSBAR_PIECES=$((BUSBAR_PIECES - 1))
      done
      while [ "$BUSBAR_COUNT" -gt 0 ]; do
        export "$1" 2>/dev/null
        shift
        BUSBAR_COUNT=$((BUSBAR_COUNT - 1))
      done
      export "$BUSBAR_MARK$BUSBAR_ID;"
      cd -- "$BUSBAR_CWD" >/dev/null 2>&1 || { printf 'nowhere\\n' >>"$BUSBAR_DIR/$BUSBAR_ID.state"; exit 1; }
      if [ -n "$BASH_VERSION" ]; then
        case $1 in
          */*) [ -e "$1" ] || exit 127; [ -f "$1" ] && [ -x "$1" ] || exit 126 ;;
          *) type -P -- "$1" >/dev/null 2>&1 || exit 127 ;;
        esac
      fi
      [ ! -e "$BUSBAR_DIR/$BUSBAR_ID.stopping" ] || exit 1
      [ "$BUSBAR_LATER" -gt 0 ] || exec "$@" 9>&-
      BUSBAR_AT=0 BUSBAR_LINE=
      while [ "$BUSBAR_AT" -lt "$(($# - BUSBAR_LATER))" ]; do
        BUSBAR_AT=$((BUSBAR_AT + 1))
        BUSBAR_LINE="$BUSBAR_LINE \\"\\\${$BUSBAR_AT}\\""
      done
      eval "exec $BUSBAR_LINE 9>&-"
    ) </dev/null >>"$2.stdout" 2>>"$2.stderr"
    BUSBAR_CODE=$?
    read -r BUSBAR_UPTIME BUSBAR_NEXT </proc/uptime
    [ -z "$BUSBAR_DOG" ] || { true >"$2.timely"; } 2>/dev/null || BUSBAR_OVER=1 BUSBAR_CUT=1
    printf 'ended %s %s\\nend\\n' "$BUSBAR_UPTIME" "$BUSBAR_CODE" >&9
    exec 9>&- 2>/dev/null
    [ -z "$BUSBAR_OVER" ] || wait "$BUSBAR_DOG"
    printf 'run %s\\n' "$2"
    if [ -e "$2.stopping" ]; then BUSBAR_CUT=1; elif [ "$5" = 1 ] && busbar_empty "$4"; then printf 'clean\\n'; fi
    [ ! -e "$2.overtime" ] || printf 'overtime\\n'
    if [ "$BUSBAR_CODE" = 0 ]; then
      printf '%s\\nbegan %s %s\\nended %s 0\\nend\\n' "$3" "$BUSBAR_BEGAN" "$BUSBAR_BASE" "$BUSBAR_UPTIME"
    else
      busbar_show "$2"
    fi
    [ ! -s "$2.stdout" ] || BUSBAR_OUTPUTS="$BUSBAR_OUTPUTS $2.stdout"
    [ ! -s "$2.stderr" ] || BUSBAR_OUTPUTS="$BUSBAR_OUTPUTS $2.stderr"
  fi
  shift "$BUSBAR_WORDS"
done
exec 9>&- 2>/dev/null
[ -z "$BUSBAR_DOG" ] || [ -n "$BUSBAR_OVER" ] || kill -KILL "-$BUSBAR_DOG"
[ ! -e "$BUSBAR_SHUT" ] || rm -f -- "$BUSBAR_SHUT"
if [ -n "$BUSBAR_OUTPUTS" ]; then
  set -- $(wc -c $BUSBAR_OUTPUTS)
  while [ $# -gt 1 ] && [ "$2" != total ]; do
    busbar_head "$1" "$2"
    shift 2
  done
fi
printf 'all\\n'
[ -n "$BUSBAR_CUT" ] || kill -KILL 0
`;

/** $1: the file that START is in, which has the other arguments. */
export const RUN_START = '. "$1"';

/**
 * Stores a script, closes the gates of earlier links and opens that of this one. $0: the directory. $1: the file. $2: the script. $3: this
 * link.
 */
export const INSTALL = `
mkdir -p "$0" && cd -- "$0" || exit 1
for BUSBAR_AT in gate.* shut.*; do
  case $BUSBAR_AT in "gate.$3" | "shut.$3."*) continue ;; esac
  [ ! -e "$BUSBAR_AT" ] || printf '%s\\n' "$BUSBAR_AT"
done | xargs rm -f --
: >"gate.$3" && printf %s "$2" >"$1.new" && mv "$1.new" "$1" && printf 'all\\n'
`;

/**
 * Ends the run of a chain that exceeded its time limit. $0: the directory of all runs. $1: the limit, hundredths of a second. $2: grace, in
 * naps. $3: the mark of processes of runs. Then the keys of the chain. The first to create \`timely\`, this or the shell that waits for the
 * run, decides whether the run was in time.
 */
export const WATCHDOG = `${LIBRARY}
busbar_hundredths() { BUSBAR_TIME=$((\${1%.*} * 100 + 1\${1#*.} - 100)); }
cd -- "$0" || exit 1
BUSBAR_LIMIT=$1 BUSBAR_LEFT=$1 BUSBAR_GRACE=$2 BUSBAR_MARK=$3
shift 3
{ read -r BUSBAR_LINE <"/proc/$PPID/stat"; } 2>/dev/null || exit 0
BUSBAR_PARENT=$PPID BUSBAR_BORN=$(set -- \${BUSBAR_LINE##*) }; printf %s "\${20}")
while :; do
  BUSBAR_NEXT=0$((BUSBAR_LEFT % 100))
  sleep "$((BUSBAR_LEFT / 100)).\${BUSBAR_NEXT#"\${BUSBAR_NEXT%??}"}" 2>/dev/null || sleep "$((BUSBAR_LEFT / 100 + 1))"
  BUSBAR_PID=$BUSBAR_PARENT BUSBAR_TICKS=$BUSBAR_BORN BUSBAR_LEFT=10 BUSBAR_BEGAN=
  busbar_alive || exit 0
  for BUSBAR_ID in "$@"; do
    [ -e "$BUSBAR_ID.state" ] || continue
    busbar_last "$BUSBAR_ID"
    [ "$BUSBAR_LINE" != end ] || continue
    BUSBAR_BEGAN=$(busbar_show "$BUSBAR_ID" | while read -r BUSBAR_LINE BUSBAR_NEXT BUSBAR_AT; do
      [ "$BUSBAR_LINE" != began ] || printf %s "$BUSBAR_NEXT"
    done)
    break
  done
  [ -n "$BUSBAR_BEGAN" ] || continue
  read -r BUSBAR_LINE BUSBAR_NEXT </proc/uptime
  busbar_hundredths "$BUSBAR_LINE"
  BUSBAR_LEFT=$((BUSBAR_LIMIT - BUSBAR_TIME))
  busbar_hundredths "$BUSBAR_BEGAN"
  BUSBAR_LEFT=$((BUSBAR_LEFT + BUSBAR_TIME))
  [ "$BUSBAR_LEFT" -le 0 ] || continue
  BUSBAR_LEFT=10
  ( set -C; : >"$BUSBAR_ID.timely" ) 2>/dev/null || continue
  : >"$BUSBAR_ID.overtime"
  busbar_leader "$BUSBAR_ID" && busbar_end_session "$BUSBAR_ID" "$BUSBAR_GRACE"
  exit 0
done
`;
