#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A live run on the simulation, and the replay of its own recording: the same verdict log.
# shellcheck source=tests/harness/e2e.sh
. "${WATTGATE_SOURCE:-.}/tests/harness/e2e.sh"
E2E_TIMEOUT=90

for scenario in hang-8gpu lost-gpu ghost-latch; do
    run "$WATTGATE" sim -s "$scenario" -x x30 --seed 3 -- "$WATTGATE" triage --json --for 3m \
        --calibration "$tmp/none.json" --record "$tmp/$scenario.wgt"
    cp "$out" "$tmp/live"
    ok "$([ "$status" -le 3 ]; echo $?)" "$scenario: live"
    run "$WATTGATE" triage --json --calibration "$tmp/none.json" "$tmp/$scenario.wgt"
    is "$(cmp "$tmp/live" "$out" 2>&1)" "" "$scenario: the replay says the same, byte for byte"
    ok "$([ "$(wc -l <"$out")" -gt 8 ]; echo $?)" "$scenario: there is something to compare"
done
finish
