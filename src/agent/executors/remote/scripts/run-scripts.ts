/**
 * The scripts for a remote machine. Constants: all variable parts are arguments, so the shell never parses user input. In one directory of
 * that machine each run has files that begin with its key, and a directory to work in unless it named one:
 *
 *   17.3.1.state, .stdout, .stderr, .script, and marks: .stopping, .overtime, .timely, .known
 *   work.5fc1.12/   it may have served earlier runs, which left it empty
 *   gate.5fc1       while it exists, runs that link 5fc1 has sent may begin
 *   shut.5fc1.7     no run of its seventh chain begins any more
 *
 * `state` records the steps of the run, line by line; its last line is `end`. The process that creates it has the run (`set -C` makes that
 * O_EXCL): a command that is sent twice runs once, and one that is stopped before it was started never begins.
 *
 *   terms <sent at, ms> <output limit, bytes> <own directory, or -> <program>
 *   <the wrapper's line of /proc/self/stat>      its identity, which no later process has
 *   began <uptime, s> <that of its chain>        times by the machine's uptime: clocks may differ
 *   said                                         the shell reported that a signal ended the command
 *   unstarted | nowhere | unwritten | stopped    the command was not executed, and why
 *   ended <uptime, s> <exit code> | vanished <at, ms>
 *   end
 */

/** Prints the record of a run. Variables have a prefix that only Busbar uses. */
export const SHOW = `
busbar_show() {
  { while IFS= read -r BUSBAR_LINE; do
    case $BUSBAR_LINE in
      "terms "* | "began "* | "ended "* | "vanished "* | [0-9]* | unstarted | nowhere | unwritten | stopped | end)
        printf '%s\\n' "$BUSBAR_LINE" ;;
      *) printf 'said\\n' ;;
    esac
  done <"$1.state"; } 2>/dev/null
}
`;

/**
 * Finds a run's last line, the leader of its session, whether that lives, and ends the session. A process of a run that has left the
 * session is identified by its environment (BUSBAR_MARK, followed by the run's key). Its variables end with a zero byte, where busybox's
 * grep would stop reading without -z.
 */
export const LIBRARY = `${SHOW}
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
  BUSBAR_FOUND=1 BUSBAR_SESSION=$BUSBAR_PID
  if { read -r BUSBAR_LINE <"/proc/$BUSBAR_PID/stat"; } 2>/dev/null; then
    set -- "$1" "$2" \${BUSBAR_LINE##*) }
    [ "\${22}" = "$BUSBAR_TICKS" ] || BUSBAR_SESSION=none
  fi
  for BUSBAR_AT in /proc/[0-9]*; do
    { read -r BUSBAR_LINE <"$BUSBAR_AT/stat"; } 2>/dev/null || continue
    set -- "$1" "$2" \${BUSBAR_LINE##*) }
    [ "$6" = "$BUSBAR_SESSION" ] && [ "$3" != Z ] && [ "$3" != X ] || continue
    [ "\${BUSBAR_AT#/proc/}" = "$BUSBAR_PID" ] && [ "$1" != CONT ] && continue
    BUSBAR_FOUND=0
    kill -"$1" "\${BUSBAR_AT#/proc/}" 2>/dev/null
  done
  for BUSBAR_AT in $(grep -lzF -e "$BUSBAR_MARK$2;" /proc/[0-9]*/environ 2>/dev/null); do
    BUSBAR_AT=\${BUSBAR_AT%/environ}
    { read -r BUSBAR_LINE <"$BUSBAR_AT/stat"; } 2>/dev/null || continue
    set -- "$1" "$2" \${BUSBAR_LINE##*) }
    [ "$6" != "$BUSBAR_SESSION" ] || continue
    kill -"$1" "\${BUSBAR_AT#/proc/}" 2>/dev/null && BUSBAR_FOUND=0
  done
  return $BUSBAR_FOUND
}
busbar_nap() { sleep 0.1 2>/dev/null || sleep 1; }
busbar_end_session() {
  BUSBAR_NAPS=$2
  busbar_signal TERM "$1"
  busbar_signal CONT "$1"
  while busbar_signal 0 "$1"; do
    [ "$BUSBAR_NAPS" -gt 0 ] || { busbar_signal KILL "$1"; [ "$BUSBAR_NAPS" -gt -300 ] || return 1; }
    BUSBAR_NAPS=$((BUSBAR_NAPS - 1))
    busbar_nap
  done
}
`;

/**
 * $1: grace, in naps. $2: terms, if it has not begun. $3: the mark of processes of runs. Ends when no process of the run is left, and
 * prints its state. The session is that of a chain, where another run follows an ended one, but none follows one that was marked as
 * stopping before.
 */
export const STOP = `${LIBRARY}
: >"$0.stopping"
( set -C; : >"$0.state" ) 2>/dev/null && printf '%s\\nstopped\\nend\\n' "$2" >"$0.state"
BUSBAR_NAPS=20
while ! busbar_leader "$0" && busbar_last "$0" && [ "$BUSBAR_LINE" != end ] && [ "$BUSBAR_NAPS" -gt 0 ]; do
  BUSBAR_NAPS=$((BUSBAR_NAPS - 1))
  busbar_nap
done
BUSBAR_MARK=$3
busbar_last "$0"
if [ "$BUSBAR_LINE" = end ]; then
  BUSBAR_PID= BUSBAR_TICKS=
  busbar_end_session "\${0##*/}" "$1"
elif busbar_leader "$0"; then
  busbar_end_session "\${0##*/}" "$1"
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
 * Prints the state of runs whose ends are not known. $0: their directory. $1: the time, ms. $2: the mark of
 * processes of runs. Then the runs, each with its output limit ("17.3.1 65536"), or none for all. If a
 * wrapper has ended without a record, this script ends its session and records that: nothing else does.
 * Cuts outputs that have grown too long.
 */
export const SURVEY = `${LIBRARY}
BUSBAR_NOW=$1 BUSBAR_MARK=$2
shift 2
cd -- "$0" || exit 1
[ $# -gt 0 ] || set -- *.state
for BUSBAR_ID in "$@"; do
  BUSBAR_MOST=\${BUSBAR_ID#* }
  BUSBAR_ID=\${BUSBAR_ID%% *}
  BUSBAR_ID=\${BUSBAR_ID%.state}
  [ -e "$BUSBAR_ID.state" ] && [ ! -e "$BUSBAR_ID.known" ] || continue
  printf 'run %s\\n' "$BUSBAR_ID"
  [ ! -e "$BUSBAR_ID.stopping" ] || printf 'stopping\\n'
  [ ! -e "$BUSBAR_ID.overtime" ] || printf 'overtime\\n'
  busbar_last "$BUSBAR_ID"
  if [ "$BUSBAR_LINE" = end ]; then
    :
  elif ! busbar_leader "$BUSBAR_ID"; then
    printf 'claimed\\n'
  elif busbar_alive; then
    for BUSBAR_AT in stdout stderr; do
      case $BUSBAR_MOST in *[!0-9]* | "") continue ;; esac
      [ -s "$BUSBAR_ID.$BUSBAR_AT" ] || continue
      [ "$(wc -c <"$BUSBAR_ID.$BUSBAR_AT")" -le "$((BUSBAR_MOST + 1))" ] ||
        truncate -s "$((BUSBAR_MOST + 1))" "$BUSBAR_ID.$BUSBAR_AT"
    done
  else
    busbar_last "$BUSBAR_ID"
    if [ "$BUSBAR_LINE" != end ]; then
      busbar_end_session "$BUSBAR_ID" 0
      printf 'vanished %s\\nend\\n' "$BUSBAR_NOW" >>"$BUSBAR_ID.state"
    fi
  fi
  busbar_show "$BUSBAR_ID"
done
printf 'all\\n'
`;

/**
 * Shuts a chain: its runs that have begun by now continue, no other begins. $0: their directory. $1: the file that shuts it. Then the keys.
 * Prints those that have begun, as SURVEY does.
 */
export const SHUT = `${LIBRARY}
busbar_claims() {
  BUSBAR_FOUND=1
  { while read -r BUSBAR_LINE BUSBAR_NEXT; do
    BUSBAR_FOUND=0
    case $BUSBAR_LINE in began | end) return 1 ;; esac
  done <"$1.state"; } 2>/dev/null
  return $BUSBAR_FOUND
}
cd -- "$0" && : >"$1" || exit 1
shift
for BUSBAR_ID in "$@"; do
  BUSBAR_NAPS=20
  while busbar_claims "$BUSBAR_ID" && [ "$BUSBAR_NAPS" -gt 0 ]; do
    BUSBAR_NAPS=$((BUSBAR_NAPS - 1))
    busbar_nap
  done
  [ -e "$BUSBAR_ID.state" ] || continue
  printf 'run %s\\n' "$BUSBAR_ID"
  [ ! -e "$BUSBAR_ID.stopping" ] || printf 'stopping\\n'
  [ ! -e "$BUSBAR_ID.overtime" ] || printf 'overtime\\n'
  busbar_show "$BUSBAR_ID"
done
printf 'all\\n'
`;

/** Gives up a run whose wrapper claimed it and never recorded its identity. $1: the time, ms. */
export const BURY = `${LIBRARY}
busbar_leader "$0" || printf 'vanished %s\\nend\\n' "$1" >>"$0.state"
busbar_show "$0"
`;

/**
 * Prints a part of an output, in base64, after a line with its present size, whether the run has ended, and the run's terms. $1: stdout or
 * stderr. $2: offset. $3: at most so many bytes. $4: how many naps to wait for more. $5: whether the run is there, or will be.
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
