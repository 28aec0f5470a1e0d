/** The commands of a run with containers: constant shell texts. They never contain user input: paths and names are their arguments. */

/** The exit code of a run whose containers were not started; the reason is in its directory. */
export const NOT_PREPARED = 125;

/** Arguments: the lock of its images, flock, node, the preparer, the run's directory, and then the command. */
export const PREPARE = `
lock=$1 flock=$2 node=$3 preparer=$4 dir=$5
shift 5
"$flock" --close "$lock" "$node" "$preparer" "$dir" || exit ${NOT_PREPARED}
exec "$@"
`;

/**
 * Runs the containers of a run and ends with the exit code of the first container that ended; it then stops the others.
 * Runs in a mount namespace of its own, so that no mount outlives it. Arguments: the run's directory, overlay or copy,
 * setsid, runc, its directory of states, the grace period in tenths of a second, and a name and an id for each container.
 *
 * - runc has a session of its own, because it passes every signal on: TERM, which goes to the whole session of the run, would reach the
 *   container beside the stop signal of its image. Only "stop" sends that, once: some programs take a second one as an order to hurry.
 * - The first process of a pid namespace ignores signals that it has no handler for. A process for which the stop signal would have its
 *   default effect, if it were not the first, gets KILL instead: once, because a program may drop its handler while it ends in good order.
 *   Status files show the masks of 64 signals as 16 digits, the first signals in the last of them. CONT follows, because a process that
 *   SIGSTOP has stopped could not handle the signal.
 * - Traps catch signals here, in each subshell too, so that exit codes are not lost; executed programs have the defaults.
 * - With several containers sed puts the name of each before its lines. sed must outlive TERM to print the last of them.
 */
export const SUPERVISE = `
dir=$1 root=$2 setsid=$3 runc=$4 states=$5 grace=$6
shift 6
total=$(($# / 2))

first_pid() {
  pid=
  [ -s "$dir/$1/pid" ] && read -r pid <"$dir/$1/pid"
  case $pid in '' | *[!0-9]*) return 1 ;; esac
  grep -q '^NSpid:.*[[:space:]]1$' "/proc/$pid/status" 2>/dev/null
}

stop() {
  first_pid "$1" || return 0
  [ ! -e "$dir/$1/stopped" ] || return 0
  : >"$dir/$1/stopped"
  wanted=15
  [ ! -s "$dir/$1/stop-signal" ] || read -r wanted <"$dir/$1/stop-signal"
  [ ! -s "$dir/$1/stop-note" ] || cat "$dir/$1/stop-note" >&2
  before=$((15 - (wanted - 1) / 4)) bit=$((1 << (wanted - 1) % 4)) signal=9
  for mask in $(sed -n "s/^Sig\\(Blk\\|Ign\\|Cgt\\):[[:space:]]*[0-9a-f]\\{$before\\}\\([0-9a-f]\\).*/0x\\2/p" "/proc/$pid/status"); do
    [ $((mask & bit)) -eq 0 ] || signal=$wanted
  done
  kill -"$signal" "$pid" 2>/dev/null
  kill -s CONT "$pid" 2>/dev/null
}

stop_all() {
  number=0
  while [ "$number" -lt "$total" ]; do
    "$1" "$number"
    number=$((number + 1))
  done
}

end_now() {
  first_pid "$1" && kill -s KILL "$pid" 2>/dev/null
}

is_left() {
  [ -d "$dir/$1" ] && [ ! -e "$dir/$1/over" ] && left=1
}

fault() {
  printf '{"kind":"node-fault","message":"%s"}' "$1" >"$dir/failure.json"
  return ${NOT_PREPARED}
}

run() {
  cd "$dir/$1" || return ${NOT_PREPARED}
  if [ "$root" = overlay ]; then
    mount -t overlay overlay -o lowerdir=image,upperdir=upper,workdir=work rootfs ||
      fault "its root could not be mounted" || return
  else
    cp -a image/. rootfs/ || fault "its image could not be copied" || return
  fi
  "$setsid" "$runc" --root "$states" --log "$dir/$1/runc.log" --log-format json \\
    run --keep --pid-file "$dir/$1/pid" --bundle "$dir/$1" "$2"
}

contain() {
  trap : TERM HUP INT
  run "$1" "$2"
  code=$?
  : >"$dir/$1/over"
  mkdir "$dir/first" 2>/dev/null || return 0
  echo "$code" >"$dir/code"
  tenths=0
  while stop_all stop; left=; stop_all is_left; [ -n "$left" ]; do
    [ "$tenths" -lt "$grace" ] || stop_all end_now
    tenths=$((tenths + 1))
    sleep 0.1
  done
}

stopping=
trap 'stopping=1' TERM HUP INT
pids=
at=0
while [ $# -gt 0 ]; do
  if [ "$total" -gt 1 ]; then
    mkfifo "$dir/$at/out" "$dir/$at/err"
    (trap '' TERM HUP INT; exec sed -u "s/^/$1: /" <"$dir/$at/out") & pids="$pids $!"
    (trap '' TERM HUP INT; exec sed -u "s/^/$1: /" <"$dir/$at/err" >&2) & pids="$pids $!"
    contain "$at" "$2" >"$dir/$at/out" 2>"$dir/$at/err" & pids="$pids $!"
  else
    contain "$at" "$2" & pids="$pids $!"
  fi
  at=$((at + 1))
  shift 2
done
for each in $pids; do
  while kill -0 "$each" 2>/dev/null; do
    if [ -n "$stopping" ]; then
      stop_all stop
      sleep 0.05
      [ -e "/proc/$each/exe" ] || break
    else
      wait "$each"
    fi
  done
  wait "$each"
done
read -r code <"$dir/code" || exit ${NOT_PREPARED}
exit "$code"
`;
