#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Recorded runs (of the simulation) and the verdict logs that they must give, byte for byte, in every
# build. WATTGATE_BLESS=1 writes the logs anew; the diff is then read by a person.
# shellcheck source=tests/harness/e2e.sh
. "${WATTGATE_SOURCE:-.}/tests/harness/e2e.sh"

for trace in "$WATTGATE_SOURCE"/tests/replay/*.wgt.zst; do
    name=$(basename "$trace" .wgt.zst)
    want=$WATTGATE_SOURCE/tests/replay/$name.jsonl
    run "$WATTGATE" triage --json --calibration "$tmp/none.json" "$trace"
    cp "$out" "$tmp/first"
    [ -z "${WATTGATE_BLESS:-}" ] || cp "$out" "$want"
    is "$(cmp "$tmp/first" "$want" 2>&1)" "" "$name gives the log that was agreed on"
    run "$WATTGATE" triage --json --calibration "$tmp/none.json" "$trace"
    is "$(cmp "$tmp/first" "$out" 2>&1)" "" "$name gives it twice"
    run "$WATTGATE" record --quiet --from "$trace" "$tmp/$name.wgt"
    run "$WATTGATE" triage --json --calibration "$tmp/none.json" "$tmp/$name.wgt"
    is "$(cmp "$tmp/first" "$out" 2>&1)" "" "$name gives it after it was written again"
done
finish
