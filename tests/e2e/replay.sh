#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Recorded runs (of the simulation) and the verdict logs that they must give, byte for byte, in every
# build. WATTGATE_BLESS=1 writes the logs anew; the diff is then read by a person.
# shellcheck source=tests/harness/e2e.sh
. "${WATTGATE_SOURCE:-.}/tests/harness/e2e.sh"

# The digest of the tables changes with every table; what follows from them is what counts.
verdicts() { sed 's/"tables":"[0-9a-f]*"/"tables":""/' "$out"; }

for trace in "$WATTGATE_SOURCE"/tests/replay/*.wgt.zst; do
    name=$(basename "$trace" .wgt.zst)
    want=$WATTGATE_SOURCE/tests/replay/$name.jsonl
    run "$WATTGATE" triage --json --calibration "$tmp/none.json" "$trace"
    verdicts >"$tmp/first"
    [ -z "${WATTGATE_BLESS:-}" ] || cp "$tmp/first" "$want"
    is "$(cmp "$tmp/first" "$want" 2>&1)" "" "$name gives the log that was agreed on"
    run "$WATTGATE" triage --json --calibration "$tmp/none.json" "$trace"
    is "$(verdicts | cmp "$tmp/first" - 2>&1)" "" "$name gives it twice"
    run "$WATTGATE" record --quiet --from "$trace" "$tmp/$name.wgt"
    run "$WATTGATE" triage --json --calibration "$tmp/none.json" "$tmp/$name.wgt"
    is "$(verdicts | cmp "$tmp/first" - 2>&1)" "" "$name gives it after it was written again"
done

for trace in "$WATTGATE_SOURCE"/tests/replay/watch/*.wgt.zst; do
    name=$(basename "$trace" .wgt.zst)
    want=$WATTGATE_SOURCE/tests/replay/watch/$name.jsonl
    run "$WATTGATE" watch --json --from "$trace"
    [ -z "${WATTGATE_BLESS:-}" ] || cp "$out" "$want"
    same "$out" "$want" "the watch of $name gives the verdicts that were agreed on"
done
finish
