#!/bin/sh
# Starts a controller and two sites, each a Busbar of its own, on this machine. Ctrl-C ends all of them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
busbar=${BUSBAR:-$here/../../busbar}
data=${SITES_DATA:-./sites-data}
controller=${CONTROLLER:-127.0.0.1:7171}
site_a=${SITE_A:-127.0.0.1:7271}
site_b=${SITE_B:-127.0.0.1:7371}
# Where the agent of site-a reaches the controller: a tunnel or a relay, if it is not the controller itself.
link_a=${LINK_A:-$controller}
mkdir -p "$data"

started=""
stop() {
  trap - INT TERM EXIT
  # shellcheck disable=SC2086
  [ -z "$started" ] || kill $started 2>/dev/null || true
  wait
}
trap 'stop; exit 130' INT TERM
trap stop EXIT

run() { # name, command ...: in the background, with a log of its own
  name=$1
  shift
  "$@" >"$data/$name.log" 2>&1 &
  started="$started $!"
  echo "$!" >"$data/$name.pid"
}

until_ok() { # what, command ...
  what=$1
  shift
  tries=0
  until "$@" >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 120 ] || { echo "$what did not come; see $data/*.log" >&2; exit 1; }
    sleep 0.5
  done
}

run controller "$busbar" up --no-agent --data "$data/controller" --http 127.0.0.1:0 --grpc "$controller"
run site-a "$busbar" up --name a1 --data "$data/site-a" --http 127.0.0.1:0 --grpc "$site_a"
run site-b "$busbar" up --name b1 --data "$data/site-b" --http 127.0.0.1:0 --grpc "$site_b"
until_ok "the controller" "$busbar" --server "$controller" jobs
until_ok "site-a" "$busbar" --server "$site_a" nodes show a1
until_ok "site-b" "$busbar" --server "$site_b" nodes show b1

# Edges with power, which use energy and run nothing: four of 20 W at site-a, two at site-b, a minute of theirs in three seconds.
edges() { # site, its server, how many
  run "$1-edges" "$busbar" agent --server "$2" --simulate-edges "$3" --site "${1#site-}-edge" \
    --power-schedule 20 --speedup 20 --data "$data/$1-edges"
}
edges site-a "$site_a" 4
edges site-b "$site_b" 2

# One outgoing connection for each site. The controller knows neither site's address.
run site-a-agent "$busbar" agent --server "$link_a" --cluster site-a --executor busbar --to "$site_a" \
  --data "$data/site-a-agent" --refresh 1s ${AGENT_FLAGS:-}
run site-b-agent "$busbar" agent --server "$controller" --cluster site-b --executor busbar --to "$site_b" \
  --data "$data/site-b-agent" --refresh 1s ${AGENT_FLAGS:-}
until_ok "the agent of site-a" "$busbar" --server "$controller" nodes show site-a-agent
until_ok "the agent of site-b" "$busbar" --server "$controller" nodes show site-b-agent
until_ok "the edges of site-a" "$busbar" --server "$controller" nodes show site-a
until_ok "the edges of site-b" "$busbar" --server "$controller" nodes show site-b

echo "controller $controller, site-a $site_a, site-b $site_b; logs in $data; stop with Ctrl-C"
wait
