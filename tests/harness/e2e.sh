# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For shell tests: TAP from a few functions. A test begins with
#
#   . "${WATTGATE_SOURCE:-.}/tests/harness/e2e.sh"
#   needs jq                          # skips the whole test, with the reason, where it is absent
#   run "$WATTGATE" triage --help     # sets $status, and the files $out and $err
#   is "$status" 0 "help is no error"
#   like "$out" "Usage:" "and says how to call it"
#   finish
#
# Every command has a deadline (E2E_TIMEOUT seconds, 60), reads nothing, and works in $tmp, a folder
# that is gone afterwards. What a test starts in the background it stops by its process id.
set -u

WATTGATE_SOURCE=$(cd "${WATTGATE_SOURCE:-.}" && pwd)
WATTGATE_BUILD=${WATTGATE_BUILD:-$WATTGATE_SOURCE/build}
WATTGATE=${WATTGATE:-$WATTGATE_BUILD/wattgate}
export WATTGATE_SOURCE WATTGATE_BUILD WATTGATE LC_ALL=C TZ=UTC

tmp=$(mktemp -d "${TMPDIR:-/tmp}/wattgate-e2e.XXXXXX")
out=$tmp/out
err=$tmp/err
status=0
cases=0
failed=0
background=()

stop_background() {
    local pid
    for pid in "${background[@]}"; do
        kill "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
    background=()
}

leave() {
    stop_background
    rm -rf "$tmp"
}
trap leave EXIT

note() { printf '%s\n' "$@" | sed 's/^/# /'; }

# ok STATUS NAME: passes when STATUS is 0.
ok() {
    cases=$((cases + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $cases - $2"
    else
        echo "not ok $cases - $2"
        failed=$((failed + 1))
    fi
}

# skip NAME REASON: one case that could not be tried; counted, never a pass.
skip() {
    cases=$((cases + 1))
    echo "ok $cases - $1 # SKIP $2"
}

skip_all() {
    echo "1..0 # SKIP $*"
    exit 0
}

needs() {
    local tool
    for tool; do
        command -v "$tool" >/dev/null 2>&1 || skip_all "$tool is not installed"
    done
}

# The corpus of real recordings, or skip the whole test.
needs_corpus() {
    corpus=${WATTGATE_CORPUS:-$WATTGATE_SOURCE/../shared/corpus}
    [ -r "$corpus" ] || skip_all "no corpus of recordings at $corpus"
}

# run CMD...: under the deadline, without input. $status 124 means that the deadline passed.
run() {
    timeout -k 5 "${E2E_TIMEOUT:-60}" "$@" >"$out" 2>"$err" </dev/null
    status=$?
    [ $status -ne 124 ] || note "no end within ${E2E_TIMEOUT:-60} s: $*"
}

# start CMD...: in the background, stopped at the end of the test; its id is in $!.
start() {
    "$@" >"$tmp/background.$((${#background[@]} + 1))" 2>&1 </dev/null &
    background+=($!)
}

# is GOT WANT NAME
is() {
    [ "$1" = "$2" ]
    local r=$?
    ok $r "$3"
    [ $r -eq 0 ] || note "got '$1', want '$2'" "$(shown "$err")"
}

# same FILE FILE NAME: equal byte for byte.
same() {
    cmp -s "$1" "$2"
    local r=$?
    ok $r "$3"
    [ $r -eq 0 ] || note "$(diff -u "$2" "$1" | head -n 20)"
}

# like FILE REGEX NAME: a line of the file matches (extended regular expression).
like() {
    grep -Eq -e "$2" "$1"
    local r=$?
    ok $r "$3"
    [ $r -eq 0 ] || note "no line matches '$2' in:" "$(shown "$1")"
}

# unlike FILE REGEX NAME: no line matches.
unlike() {
    ! grep -Eq -e "$2" "$1"
    local r=$?
    ok $r "$3"
    [ $r -eq 0 ] || note "matches '$2': $(grep -E -m 3 -e "$2" "$1")"
}

shown() { head -n 15 "$1" 2>/dev/null; }

finish() {
    echo "1..$cases"
    [ $failed -eq 0 ]
    exit
}
