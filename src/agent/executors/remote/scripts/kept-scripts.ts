// The files of runs whose ends are recorded: see run-scripts.ts.
import { LIBRARY } from "./run-scripts.ts";

/**
 * Records that the ends of runs are known; only their output stays. Ends their leftover processes, which it finds by their environment,
 * also outside of the session of the run. For a run that is being stopped, or over its time, another process does that. $0: their
 * directory. $1: the mark of processes of runs. Then the runs, each with the directory to remove with it ("17.3.1 work.5fc1.12"), or "-".
 */
export const FORGET = `${LIBRARY}
cd -- "$0" || exit 1
BUSBAR_MARK=$1
shift
for BUSBAR_AT in $(grep -lzF -e "$BUSBAR_MARK" /proc/[0-9]*/environ 2>/dev/null); do
  BUSBAR_AT=\${BUSBAR_AT#/proc/}
  BUSBAR_AT=\${BUSBAR_AT%/environ}
  BUSBAR_ID=
  { while IFS= read -r BUSBAR_LINE || [ -n "$BUSBAR_LINE" ]; do
    case $BUSBAR_LINE in *"$BUSBAR_MARK"*)
      BUSBAR_ID=\${BUSBAR_LINE#*"$BUSBAR_MARK"}
      BUSBAR_ID=\${BUSBAR_ID%%;*} ;;
    esac
  done <"/proc/$BUSBAR_AT/environ"; } 2>/dev/null
  case $BUSBAR_ID in "" | *[!0-9.]*) continue ;; esac
  busbar_last "$BUSBAR_ID"
  [ "$BUSBAR_LINE" = end ] && [ ! -e "$BUSBAR_ID.stopping" ] && [ ! -e "$BUSBAR_ID.overtime" ] || continue
  kill -KILL "$BUSBAR_AT" 2>/dev/null
done
for BUSBAR_ID in "$@"; do
  BUSBAR_AT=\${BUSBAR_ID#* }
  BUSBAR_ID=\${BUSBAR_ID%% *}
  [ ! -e "$BUSBAR_ID.state" ] || : >"$BUSBAR_ID.known"
  [ ! -e "$BUSBAR_ID.script" ] || printf '%s.script\\n' "$BUSBAR_ID"
  [ "$BUSBAR_AT" = - ] || printf '%s\\n' "$BUSBAR_AT"
done | xargs rm -rf --
printf 'all\\n'
`;

/** Removes runs. $0: their directory. Then their keys. */
export const REMOVE = `
cd -- "$0" || exit 1
for BUSBAR_ID in "$@"; do
  for BUSBAR_AT in state stdout stderr script stopping overtime timely known; do
    [ ! -e "$BUSBAR_ID.$BUSBAR_AT" ] || printf '%s.%s\\n' "$BUSBAR_ID" "$BUSBAR_AT"
  done
done | xargs rm -f --
printf 'all\\n'
`;

/** Removes directories. $0: their parent. Then their names. */
export const REMOVE_DIRECTORIES = `
cd -- "$0" || exit 1
rm -rf -- "$@"
printf 'all\\n'
`;

/**
 * Prints the runs whose ends are known, oldest first, with age in seconds and bytes of output; and working directories that are older than
 * an hour.
 */
export const LIST_KEPT = `
cd -- "$0" || exit 1
BUSBAR_NOW=$(date +%s)
for BUSBAR_ID in *.known; do
  [ -e "$BUSBAR_ID" ] || continue
  BUSBAR_ID=\${BUSBAR_ID%.known}
  printf '%s.known\\n%s.stdout\\n%s.stderr\\n' "$BUSBAR_ID" "$BUSBAR_ID" "$BUSBAR_ID"
done | xargs stat -c '%Y %s %n' 2>/dev/null | while read -r BUSBAR_AT BUSBAR_SIZE BUSBAR_ID; do
  printf '%s %s %s\\n' "$((BUSBAR_NOW - BUSBAR_AT))" "$BUSBAR_SIZE" "$BUSBAR_ID"
done
for BUSBAR_AT in work.*; do
  [ -d "$BUSBAR_AT" ] && printf '%s\\n' "$BUSBAR_AT"
done | xargs stat -c '%Y %n' 2>/dev/null | while read -r BUSBAR_AT BUSBAR_ID; do
  [ "$((BUSBAR_NOW - BUSBAR_AT))" -le 3600 ] || printf 'old %s\\n' "$BUSBAR_ID"
done
printf 'all\\n'
`;
