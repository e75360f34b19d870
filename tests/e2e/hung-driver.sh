#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A driver call about one GPU that never comes back: told within 5 s, the others go on.
# shellcheck source=tests/harness/e2e.sh
. "${WATTGATE_SOURCE:-.}/tests/harness/e2e.sh"
needs jq

printf 'gpus 3\nboard h100\nprocess gpus=all pid=launcher\nphase work for=10m\nfault block gpus=1 from=8s\n' \
    >"$tmp/block.sim"
"$WATTGATE" sim -s "$tmp/block.sim" -x x1 -- "$WATTGATE" triage --follow --json \
    >"$tmp/log" 2>"$tmp/err" &
watcher=$!
background+=("$watcher")

# Processes below one, out of one look at /proc (never by walking: the walk has children too).
descendants() {
    cat /proc/[0-9]*/stat 2>/dev/null | sed 's/^\([0-9]*\) (.*) \(.\) \([0-9]*\).*/\1 \3 \2/' >"$tmp/stat"
    awk -v top="$1" '{ parent[$1] = $2; state[$1] = $3 }
        END { for (p in parent) for (q = p; q in parent; q = parent[q])
                  if (parent[q] == top) { print p, state[p]; break } }' "$tmp/stat"
}

most=0
for _ in $(seq 1 22); do
    sleep 1
    n=$(descendants "$watcher" | wc -l)
    [ "$n" -le "$most" ] || most=$n
done
kill -INT "$(descendants "$watcher" | awk 'NR == 1 || $1 < low { low = $1 } END { print low }')"
for _ in $(seq 1 30); do
    kill -0 "$watcher" 2>/dev/null || break
    sleep 0.1
done
ok "$(kill -0 "$watcher" 2>/dev/null; echo $((1 - $?)))" "an interrupt ends it within three seconds"
is "$(jq -r 'select(.finding == "worker_stuck").index' "$tmp/log" | sort -u)" 1 \
    "the GPU that hangs is named, no other"
first=$(jq -s '[.[] | select(.schema == "wattgate.state/1").time_us] | min' "$tmp/log")
stuck=$(jq -s '[.[] | select(.finding == "worker_stuck").at_us] | min' "$tmp/log")
ok "$([ $((stuck - first)) -lt 20000000 ]; echo $?)" "soon after the hang, which is 8 s after the start ($(((stuck - first) / 1000)) ms)"
is "$(jq -r 'select(.schema == "wattgate.triage/1").devices[] | select(.index != 1).state' \
    "$tmp/log" | sort -u)" compute "the others go on"
is "$(jq -r 'select(.finding == "device_lost").index' "$tmp/log")" "" "nobody is called lost"
ok "$([ "$most" -le 7 ]; echo $?)" "processes are bounded ($most at most)"
is "$(descendants $$ | grep -c Z)" 0 "no zombie is left"
finish
