#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `wattgate watch` beside real processes on simulated GPUs: what it finds of a job, and what it says
# when a rank is held, when one dies, and when all end well.
# shellcheck source=tests/harness/e2e.sh
. "${WATTGATE_SOURCE:-.}/tests/harness/e2e.sh"
needs jq

# A job of three ranks; their process ids in $ranks, the launcher's in $launcher.
launch() {
    cat >"$tmp/launcher.sh" <<'END'
for rank in 0 1 2; do
    RANK=$rank WORLD_SIZE=3 LOCAL_RANK=$rank TORCHELASTIC_RUN_ID=demo SECRET=hush \
        bash -c 'sleep 90 & wait' train.py "$1" >/dev/null 2>&1 </dev/null &
    echo $! >"$2/rank$rank"
done
touch "$2/launched"
wait
END
    rm -f "$tmp/launched"
    bash "$tmp/launcher.sh" "$1" "$tmp" >/dev/null 2>&1 </dev/null &
    launcher=$!
    background+=("$launcher")
    for _ in $(seq 1 50); do
        [ -e "$tmp/launched" ] && break
        sleep 0.1
    done
    sleep 0.3
    read -r rank0 <"$tmp/rank0"
    read -r rank1 <"$tmp/rank1"
    read -r rank2 <"$tmp/rank2"
}

end_job() {
    kill "$rank0" "$rank1" "$rank2" "$launcher" 2>/dev/null
    wait "$launcher" 2>/dev/null
}

# scenario LINES...: three H100 whose owners are the ranks
scenario() {
    printf 'gpus 3\nboard h100\nprocess gpus=0 pid=%s\nprocess gpus=1 pid=%s\nprocess gpus=2 pid=%s\n' \
        "$rank0" "$rank1" "$rank2" >"$tmp/job.sim"
    printf '%s\n' "$@" >>"$tmp/job.sim"
}

last() { jq -s "[.[] | select(.schema == \"wattgate.verdict/1\")] | last | $1" "$out"; }
first_alert() { jq -s '[.[] | select(.stage == "alert")] | first | '"$1" "$out"; }

# ---- what is found ----
launch hold
run "$WATTGATE" watch --pid "$launcher" --explain --json
is "$status" 0 "a job is found by its launcher"
is "$(jq -r '[.ranks[] | [.rank, .pid]] | flatten | join(" ")' "$out")" \
    "0 $rank0 1 $rank1 2 $rank2" "its ranks are told, not the processes that they started"
is "$(jq -r '[.job, .world, .ranks[0].launcher] | join(" ")' "$out")" "demo 3 torchrun" "and the launch"
unlike "$out" hush "no other part of an environment is told"
run "$WATTGATE" watch --cmd "train.py hold" --explain --json
is "$(jq '.ranks | length' "$out")" 3 "it is found by its command line"
run "$WATTGATE" watch --pid "$launcher" --explain
like "$out" "rank 2 .*process $rank2 .*GPU index:2" "people are told too"
run "$WATTGATE" watch --cmd no-such-command-line --explain
is "$status" 4 "a job that is not there"
like "$err" "no process is meant" "is told"
start sleep 60
run "$WATTGATE" watch --pid $! --for 1s
is "$status" 4 "a process without ranks is no job"
like "$err" "which rank it is" "and that is told"
for args in "" "--pid 1 --cmd x" "--pid 0" "--pid 1 extra"; do
    # shellcheck disable=SC2086
    run "$WATTGATE" watch $args
    is "$status" 2 "usage: watch $args"
done

# ---- a rank that does nothing while the others wait for it ----
scenario 'phase work for=60s' 'phase spin gpus=0-1 for=1h' 'phase held gpus=2 for=1h'
run "$WATTGATE" sim -s "$tmp/job.sim" -x x8 -- "$WATTGATE" watch --pid "$launcher" --json --for 150s \
    --record "$tmp/held.wgt"
is "$status" 1 "a hang that stands is told by the exit status"
is "$(last '.verdict + " " + .kind + " " + .scope')" '"hang rank_missing job"' "which it is"
is "$(last '[.culprits[].rank]' | jq -c .)" "[2]" "through whom"
is "$(last '.culprits[0].pid')" "$rank2" "with its process"
ok "$(first_alert '(.decided_us - .since_us) / 1e6 <= 60 and .gpu_hours.lost_so_far > 0' | grep -q true; echo $?)" \
    "soon ($(first_alert '(.decided_us - .since_us) / 1e6') s), with the GPU-hours"
is "$(jq -s '[.[] | select(.stage == "alert")] | length' "$out")" 1 "once"
cp "$out" "$tmp/held.live"
run "$WATTGATE" watch --json --from "$tmp/held.wgt"
is "$status" 1 "a recorded watch is replayed"
same "$out" "$tmp/held.live" "and gives the same verdicts, byte for byte"
run "$WATTGATE" watch --from "$WATTGATE_SOURCE/tests/replay/hang.wgt.zst"
is "$status" 4 "a trace without a job"
like "$err" "holds no job" "is told"
run "$WATTGATE" triage --quiet --json "$tmp/held.wgt"
ok "$(jq -s 'length > 3' "$out" | grep -q true; echo $?)" "the telemetry was kept"
end_job

# ---- a rank that dies ----
launch die
scenario 'phase work for=30s' 'phase spin gpus=0-1 for=1h' 'phase idle gpus=2 for=1h'
(
    sleep 6
    kill -KILL "$rank2"
) &
run "$WATTGATE" sim -s "$tmp/job.sim" -x x8 -- "$WATTGATE" watch --pid "$launcher" --json --for 120s
is "$status" 1 "a dead rank whose peers wait is a hang"
is "$(last '[.candidates[], (.culprits[].rank | tostring)] | join(" ")')" \
    '"epoch_end_mismatch rank_dead 2"' "how it ended is not known, through whom is"
like "$out" '"positive_proof":"a process that ended' "and that it cannot recover"
end_job

# ---- the end of the job ----
launch end
scenario 'phase work for=1h'
(
    sleep 5
    kill -TERM "$rank0" "$rank1" "$rank2"
) &
run "$WATTGATE" sim -s "$tmp/job.sim" -x x8 -- "$WATTGATE" watch --pid "$launcher" --json --for 10m
is "$status" 0 "the watch ends with the job"
is "$(last '.verdict')" '"finished"' "and says so"
is "$(jq -s '[.[] | select(.stage != null)] | length' "$out")" 0 "nobody was alarmed"
end_job
finish
