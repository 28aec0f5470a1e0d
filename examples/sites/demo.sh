#!/bin/sh
# Sends work to the sites that start.sh has started, and shows it at both levels.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
busbar=${BUSBAR:-$here/../../busbar}
controller=${CONTROLLER:-127.0.0.1:7171}
site_a=${SITE_A:-127.0.0.1:7271}
show() {
  echo "\$ busbar $*"
  "$busbar" "$@"
}
export BUSBAR_SERVER="$controller"

show clusters
# One job for site-a, and an array for whichever site has room: a request for a core goes to any cluster.
show run --cluster site-a -- sh -c 'echo "task $BUSBAR_ORIGIN_TASK_ID of the controller is task $BUSBAR_TASK_ID on $BUSBAR_NODE"'
show submit --wait --array 0-7 --request '[[{"type":"core","count":1}]]' -- \
  sh -c 'echo "$BUSBAR_ARRAY_INDEX of $BUSBAR_ARRAY_SIZE on $BUSBAR_NODE"'
show tasks 2
show logs 2.3
# The site's own users see what came from above, in a group of its own.
show --server "$site_a" jobs --group upstream
# A job with energy: split over the edges of both sites, which are one node each for the controller, and by each site over its own.
show nodes
show submit --wait --energy 3000Ws
show tasks 3
show --server "$site_a" jobs --group upstream --label busbar.origin.task=3.0
