#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What an unlucky user does: the wrong file, two recorders, closed streams, full disks, hung drivers.
# shellcheck source=tests/harness/e2e.sh
. "${WATTGATE_SOURCE:-.}/tests/harness/e2e.sh"
needs jq zstd

zstd -dqf "$WATTGATE_SOURCE/tests/replay/hang.wgt.zst" -o "$tmp/in.wgt"
size=$(wc -c <"$tmp/in.wgt")
ln -s in.wgt "$tmp/link.wgt"
ln "$tmp/in.wgt" "$tmp/hard.wgt"
spared() { is "$(wc -c <"$tmp/in.wgt")" "$size" "the input is as it was ($1)"; }

# ---- never onto what is read, never onto what is no trace ----
for to in in link hard; do
    for how in "record --from $tmp/in.wgt" "record --truncate --from $tmp/in.wgt" \
        "triage --quiet --record $tmp/$to.wgt"; do
        case $how in
        record*) args="$how $tmp/$to.wgt" ;;
        *) args="$how $tmp/in.wgt" ;;
        esac
        # shellcheck disable=SC2086
        E2E_TIMEOUT=10 run "$WATTGATE" $args
        is "$status" 4 "refused: ${args//$tmp\//}"
        like "$err" "$to.wgt. is the trace that is read" "and said why"
        spared "$to"
    done
done
# shellcheck disable=SC2016
run bash -c '"$WATTGATE" record --from "$1" - >>"$1"' - "$tmp/in.wgt"
is "$status" 4 "the input as standard output is refused"
spared "standard output"
echo precious >"$tmp/notes.txt"
for args in "record --from $tmp/in.wgt" "triage --quiet --record"; do
    case $args in
    record*) args="$args $tmp/notes.txt" ;;
    *) args="$args $tmp/notes.txt $tmp/in.wgt" ;;
    esac
    # shellcheck disable=SC2086
    run "$WATTGATE" $args
    is "$status" 4 "a file that is there is refused: ${args//$tmp\//}"
    is "$(cat "$tmp/notes.txt")" precious "and kept"
done
run "$WATTGATE" triage --record "$tmp/x.wgt" "$tmp/in.wgt" "$tmp/in.wgt"
is "$status" 2 "--record with two traces is a mistake"
run "$WATTGATE" record --from "$tmp/in.wgt" "$tmp/copy.wgt"
is "$status" 0 "a new file is written"
run "$WATTGATE" record --truncate --from "$tmp/link.wgt" "$tmp/copy.wgt"
is "$status" 0 "and written anew when asked"

# ---- values that make no sense ----
while read -r args; do
    # shellcheck disable=SC2086
    run "$WATTGATE" $args
    is "$status" 2 "usage: ${args//$tmp\//}"
done <<END
record --for -5s $tmp/n.wgt
record --max-size 1B $tmp/n.wgt
record --max-size -1GiB $tmp/n.wgt
record --keep 0 $tmp/n.wgt
record --deadline 1ms $tmp/n.wgt
record --interval 10ms $tmp/n.wgt
triage --interval 10ms
triage --for -1s
triage --format nonsense $tmp/in.wgt
record --format nonsense --from $tmp/in.wgt $tmp/n.wgt
calibrate --format nonsense --from $tmp/in.wgt
END

# ---- limits and closed streams ----
# shellcheck disable=SC2016
run bash -c 'ulimit -f 100; "$WATTGATE" record --from "$1" "$2"' - "$tmp/in.wgt" "$tmp/limited.wgt"
is "$status" 4 "a file at its size limit is an error"
like "$err" "limited.wgt.*File too large" "that names the file"
run "$WATTGATE" triage --json "$tmp/limited.wgt"
is "$(jq -s 'map(select(.schema == "wattgate.triage/1")) | length' "$out")" 1 \
    "what was written before is read"
# shellcheck disable=SC2016
run bash -c '"$WATTGATE" record --from "$1" "$2" <&- >&- 2>&-' - "$tmp/in.wgt" "$tmp/closed.wgt"
is "$status" 0 "all streams closed: the trace is written"
run "$WATTGATE" triage --quiet --json "$tmp/closed.wgt"
is "$(jq -s 'length > 3' "$out")" true "and whole"
# shellcheck disable=SC2016
run bash -c '"$WATTGATE" triage "$1" >&-' - "$tmp/in.wgt"
is "$status" 4 "output that nobody can take is no success"
printf 'gpus 1\nboard h100\n' >"$tmp/one.sim"
run bash -c 'trap "" PIPE; exec "$WATTGATE" sim -s "$1" -- sh -c "kill -PIPE \$\$; exit 0"' - "$tmp/one.sim"
ok "$([ "$status" -ne 0 ]; echo $?)" "a simulated node's program has its own SIGPIPE"

# ---- a terminal without block characters ----
run "$WATTGATE" triage --quiet "$tmp/in.wgt"
unlike "$out" '▁|▂|▃|▄|▅|▆|▇|█' "no block characters where the locale has none"
run env LC_ALL=C.UTF-8 "$WATTGATE" triage --quiet "$tmp/in.wgt"
like "$out" '▂|▃' "and some where it has"

# ---- live: two recorders, a file that moves away, a driver that hangs from the start ----
printf 'gpus 2\nboard h100\nprocess gpus=all pid=launcher\nphase work for=10m\n' >"$tmp/work.sim"
cat >"$tmp/live.sh" <<'END'
cd "$1"
"$WATTGATE" record --quiet r.wgt & first=$!
sleep 2
timeout 5 "$WATTGATE" record --quiet r.wgt 2>second; echo "second $?"
echo "first $first" >first
mv r.wgt moved.wgt; sleep 2.5
mv r.wgt again.wgt; echo foreign >r.wgt; sleep 2.5
wait $first; echo "first $?"
END
run "$WATTGATE" sim -s "$tmp/work.sim" -x x1 -- bash "$tmp/live.sh" "$tmp"
is "$(grep second "$out")" "second 4" "a second recorder on one file is refused"
is "$(grep first "$out")" "first 4" "the first one ends when its place is taken"
like "$tmp/second" "process $(sed 's/first //' "$tmp/first")" "and told who writes it"
run "$WATTGATE" triage --json "$tmp/again.wgt"
is "$(jq -r 'select(.finding == "reader").evidence[0].detail' "$out" | grep -c 'moved or removed')" 1 \
    "a file that moves away is followed by one that says so"
is "$(cat "$tmp/r.wgt")" foreign "a file that somebody put there is left alone"

printf 'gpus 3\nboard h100\nprocess gpus=all pid=launcher\nphase work for=10m\nfault block gpus=0 from=0s\n' \
    >"$tmp/block.sim"
run "$WATTGATE" sim -s "$tmp/block.sim" -x x1 -- "$WATTGATE" triage --json --deadline 1s --for 3s
is "$(jq -r 'select(.schema == "wattgate.triage/1").devices[] | select(.index != 0).state' "$out" |
    sort -u)" compute "GPU 0 hangs from the start: the others are seen"
is "$(jq -r 'select(.finding == "worker_stuck") | .index' "$out" | tr '\n' ' ')" "null 0 " \
    "told at the deadline, and then of which GPU"
# A worker that somebody kills: another takes its place, and nobody says that the driver hangs.
cat >"$tmp/kill.sh" <<'END'
"$WATTGATE" triage --json --for 10s & triage=$!
sleep 2
for pid in $(cat /proc/$triage/task/$triage/children); do kill -KILL "$pid"; done
wait $triage
END
run "$WATTGATE" sim -s "$tmp/work.sim" -x x1 -- bash "$tmp/kill.sh"
is "$(jq -r 'select(.finding == "worker_stuck").finding' "$out")" "" "a killed worker is no hang"
is "$(jq -r 'select(.finding == "reader").evidence[0].detail' "$out" | grep -c 'signal 9; another')" 2 \
    "it is told, and another takes its place"
is "$(jq -r 'select(.schema == "wattgate.triage/1").devices[].state' "$out" | sort -u)" compute \
    "the GPUs are read on"
printf 'gpus 72\nboard gb200\nprocess gpus=all pid=launcher\nphase work for=10m\nfault block gpus=70 from=3s\n' \
    >"$tmp/large.sim"
run "$WATTGATE" sim -s "$tmp/large.sim" -x x1 -- "$WATTGATE" triage --json --for 12s --deadline 1s
is "$(jq -r 'select(.schema == "wattgate.triage/1").devices[] | select(.index != 70).state' "$out" |
    sort | uniq -c | tr -s ' ')" " 71 compute" "GPU 70 of 72 hangs: 71 go on"
finish
