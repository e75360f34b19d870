#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Levels: learned only when seen, kept, used, expired.
# shellcheck source=tests/harness/e2e.sh
. "${WATTGATE_SOURCE:-.}/tests/harness/e2e.sh"
needs jq
E2E_TIMEOUT=60
store=$tmp/levels.json

# sim SCENARIO-FILE COMMAND...: always the same units
sim() {
    local file=$1
    shift
    run "$WATTGATE" sim -s "$file" -x x60 --seed 5 -- "$WATTGATE" "$@"
}

printf 'gpus 2\nboard h100\nprocess gpus=all pid=launcher\nphase work for=20m\n' >"$tmp/load.sim"
printf 'gpus 2\nboard h100\nphase idle for=20m\n' >"$tmp/idle.sim"
printf 'gpus 2\nboard h100\nphase idle for=20m limit=400W\n' >"$tmp/capped.sim"

sim "$tmp/load.sim" calibrate --for 150s --calibration "$store" --json
is "$(jq -s '[.[].anchors_mw.bare] | map(select(. != null)) | length' "$out")" 0 \
    "a start under load learns no idle"

sim "$tmp/idle.sim" calibrate --for 60s --calibration "$store" --json
is "$status" 0 "an idle node teaches something"
is "$(jq -s '[.[].anchors_mw.bare | select(. > 50000 and . < 100000)] | length' "$out")" 2 \
    "the bare level of both units"
run "$WATTGATE" calibrate --show --calibration "$store" --json
is "$(jq -s '[.[].anchors_mw.held] | map(select(. != null)) | length' "$out")" 0 \
    "what was not seen is not there"

sim "$tmp/idle.sim" triage --for 20s --calibration "$store" --json
is "$(jq -r 'select(.schema == "wattgate.triage/1").calibration' "$out")" learned \
    "triage uses what was kept"
sim "$tmp/capped.sim" triage --for 20s --calibration "$store" --json
like "$err" "limit changed" "another power limit: expired, and said"

printf '{' >"$tmp/bad.json"
sim "$tmp/idle.sim" triage --for 20s --calibration "$tmp/bad.json"
is "$status" 4 "a broken file that was asked for is an error"
like "$err" "bad.json" "named in the message"
mkdir -p "$tmp/state/wattgate"
echo "{" >"$tmp/state/wattgate/calibration.json"
run env XDG_STATE_HOME="$tmp/state" "$WATTGATE" triage \
    "$WATTGATE_SOURCE/examples/traces/a100-square-wave.csv"
like "$err" "kept levels are not used" "in the usual place it is a note"
like "$out" "utilisation said" "and the triage goes on"
finish
