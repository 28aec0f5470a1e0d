import { SHELLS } from "../../../runs/shells.ts";

/**
 * Prints the facts of the machine, in lines of a word and its value. $0: the id of the calling installation; its runs are separate from
 * those of others. Runs are in the first writable place.
 */
export const PROBE = `
printf 'host %s\\n' "$(hostname 2>/dev/null || uname -n)"
for BUSBAR_AT in /etc/machine-id /var/lib/dbus/machine-id; do
  { read -r BUSBAR_LINE <"$BUSBAR_AT"; } 2>/dev/null && printf 'machine %s\\n' "$BUSBAR_LINE" && break
done
{ read -r BUSBAR_LINE </proc/sys/kernel/random/boot_id; } 2>/dev/null && printf 'boot %s\\n' "$BUSBAR_LINE"
{ read -r BUSBAR_LINE <"/proc/$PPID/stat"; } 2>/dev/null && printf 'parent %s\\n' "$BUSBAR_LINE"
BUSBAR_LINE=$(cd "/proc/$PPID/cwd" 2>/dev/null && pwd -P) && printf 'in %s\\n' "$BUSBAR_LINE"
{ head -c 4096 "/proc/$PPID/cmdline" | od -An -v -tx1; } 2>/dev/null | while read -r BUSBAR_LINE; do
  printf 'command %s\\n' "$BUSBAR_LINE"
done
printf 'cpus %s\\n' "$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)"
{ read -r BUSBAR_LINE </sys/fs/cgroup/cpu.max; } 2>/dev/null && printf 'cpu-max %s\\n' "$BUSBAR_LINE"
{ while read -r BUSBAR_LINE BUSBAR_AT BUSBAR_NEXT; do
  [ "$BUSBAR_LINE" != MemTotal: ] || printf 'memory-kib %s\\n' "$BUSBAR_AT"
done </proc/meminfo; } 2>/dev/null
{ read -r BUSBAR_LINE </sys/fs/cgroup/memory.max; } 2>/dev/null && printf 'memory-max %s\\n' "$BUSBAR_LINE"
printf 'system %s\\n' "$(uname -srm)"
for BUSBAR_AT in base64 chmod date grep head kill mkdir od rm setsid sleep stat tail truncate wc xargs; do
  command -v "$BUSBAR_AT" >/dev/null 2>&1 || printf 'missing %s\\n' "$BUSBAR_AT"
done
BUSBAR_LINE=$(command -v setsid) && case $BUSBAR_LINE in /*) printf 'setsid %s\\n' "$BUSBAR_LINE" ;; esac
for BUSBAR_AT in ${SHELLS.join(" ")}; do
  [ -x "$BUSBAR_AT" ] && printf 'shell %s\\n' "$BUSBAR_AT" && break
done
BUSBAR_UID=$(id -u)
for BUSBAR_AT in /var/tmp /tmp /dev/shm; do
  BUSBAR_NEXT=$BUSBAR_AT/busbar-$BUSBAR_UID
  mkdir -m 700 "$BUSBAR_NEXT" 2>/dev/null
  [ -d "$BUSBAR_NEXT" ] && [ ! -L "$BUSBAR_NEXT" ] && [ -O "$BUSBAR_NEXT" ] || continue
  mkdir -p "$BUSBAR_NEXT/$0" 2>/dev/null && ( : >"$BUSBAR_NEXT/$0/probe" ) 2>/dev/null || continue
  chmod 700 "$BUSBAR_NEXT" && printf 'directory %s\\n' "$BUSBAR_NEXT/$0"
  for BUSBAR_AT in "$BUSBAR_NEXT/$0"/*.worker; do
    { read -r BUSBAR_LINE <"$BUSBAR_AT"; } 2>/dev/null || continue
    BUSBAR_AT=\${BUSBAR_AT##*/}
    printf 'named %s %s\\n' "\${BUSBAR_AT%.worker}" "$BUSBAR_LINE"
  done
  break
done
printf 'user %s\\n' "$BUSBAR_UID"
printf 'all\\n'
`;

/** Records there which process is the worker of a node. $0: the file. Then its text. */
export const NOTE_WORKER = `printf '%s\\n' "$1" >"$0"; printf 'all\\n'`;
