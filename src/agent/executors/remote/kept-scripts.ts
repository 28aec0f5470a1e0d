// The files of runs whose ends are known: see scripts.ts.

/**
 * Notes that the ends of runs are known; only their output stays. $0: where they are. Then which,
 * each with the directory that is to go with it ("17.3.1 work.5fc1.12"), or "-".
 */
export const FORGET = `
cd -- "$0" || exit 1
for BUSBAR_RUN in "$@"; do
  BUSBAR_AT=\${BUSBAR_RUN#* }
  BUSBAR_RUN=\${BUSBAR_RUN%% *}
  [ ! -e "$BUSBAR_RUN.state" ] || : >"$BUSBAR_RUN.known"
  [ ! -e "$BUSBAR_RUN.script" ] || printf '%s.script\\n' "$BUSBAR_RUN"
  [ "$BUSBAR_AT" = - ] || printf '%s\\n' "$BUSBAR_AT"
done | xargs rm -rf --
printf 'all\\n'
`;

/** Removes runs. $0: where they are. Then which. */
export const REMOVE = `
cd -- "$0" || exit 1
for BUSBAR_RUN in "$@"; do
  for BUSBAR_AT in state stdout stderr script stopping overtime known; do
    [ ! -e "$BUSBAR_RUN.$BUSBAR_AT" ] || printf '%s.%s\\n' "$BUSBAR_RUN" "$BUSBAR_AT"
  done
done | xargs rm -f --
printf 'all\\n'
`;

/** Removes directories. $0: where they are. Then which. */
export const REMOVE_DIRECTORIES = `
cd -- "$0" || exit 1
rm -rf -- "$@"
printf 'all\\n'
`;

/**
 * Prints the runs whose ends are known, oldest first, with age in seconds and bytes of output; and
 * directories to work in that are older than an hour.
 */
export const LIST_KEPT = `
cd -- "$0" || exit 1
BUSBAR_NOW=$(date +%s)
for BUSBAR_RUN in *.known; do
  [ -e "$BUSBAR_RUN" ] || continue
  BUSBAR_RUN=\${BUSBAR_RUN%.known}
  printf '%s.known\\n%s.stdout\\n%s.stderr\\n' "$BUSBAR_RUN" "$BUSBAR_RUN" "$BUSBAR_RUN"
done | xargs stat -c '%Y %s %n' 2>/dev/null | while read -r BUSBAR_AT BUSBAR_SIZE BUSBAR_RUN; do
  printf '%s %s %s\\n' "$((BUSBAR_NOW - BUSBAR_AT))" "$BUSBAR_SIZE" "$BUSBAR_RUN"
done
for BUSBAR_AT in work.*; do
  [ -d "$BUSBAR_AT" ] && printf '%s\\n' "$BUSBAR_AT"
done | xargs stat -c '%Y %n' 2>/dev/null | while read -r BUSBAR_AT BUSBAR_RUN; do
  [ "$((BUSBAR_NOW - BUSBAR_AT))" -le 3600 ] || printf 'old %s\\n' "$BUSBAR_RUN"
done
printf 'all\\n'
`;
