#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `wattgate sim`: what reaches the program, what comes back, what is left behind. Speaks TAP.
build=${WATTGATE_BUILD:-${BUILD:-build}}
program=${WATTGATE:-$build/wattgate}
if [ ! -x "$program" ]; then
    echo "1..0 # SKIP no program in $build"
    exit 0
fi
export WATTGATE_SIM_LIB=${WATTGATE_SIM_LIB:-$build/sim/libnvidia-ml.so.1}
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
n=0 bad=0
is() { # is GOT WANT NAME
    n=$((n + 1))
    if [ "$1" = "$2" ]; then echo "ok $n - $3"; else
        bad=1
        echo "not ok $n - $3"
        echo "# got '$1', want '$2'"
    fi
}
has() { # has TEXT PART NAME
    case $1 in *"$2"*) is yes yes "$3" ;; *) is "$1" "...$2..." "$3" ;; esac
}
sim() { "$program" sim "$@" 2>"$TMPDIR/err"; }
status() {
    sim "$@" >/dev/null
    echo $?
}

for name in $(sim --list | cut -d' ' -f1); do
    is "$(status -s "$name" --print)" 0 "scenario $name is sound"
done
is "$(status -- sh -c 'exit 37')" 37 "the program's status is passed on"
# shellcheck disable=SC2016 # the inner shell's own pid
is "$(status -- sh -c 'kill -9 $$')" 137 "so is the signal that ended it"
is "$(status -- "$TMPDIR/none")" 127 "a program that is not there"
is "$(status -- /etc/passwd)" 126 "a program that cannot be run"
is "$(status -s "$TMPDIR/none" -- true)" 4 "a scenario that is not there"
has "$(cat "$TMPDIR/err")" "--list" "it says where to look"
printf 'gpus 2\nphase nap\n' >"$TMPDIR/bad"
is "$(status -s "$TMPDIR/bad" -- true)" 2 "a scenario with a mistake"
has "$(cat "$TMPDIR/err")" "line 2, column 7: 'nap'" "it says where the mistake is"
rm "$TMPDIR/bad"
is "$(status --speed fast -- true)" 2 "a speed that is none"
is "$(status --gpus 73 -- true)" 2 "too many GPUs"
is "$(status)" 2 "no program given"
# shellcheck disable=SC2016 # expanded by the program
has "$(sim -- sh -c 'ls $WATTGATE_SIM $WATTGATE_CLOCK')" "/clock" "the program is told of its clock"
# shellcheck disable=SC2016
has "$(sim --gpus 5 -s hang-8gpu -- sh -c 'cat $WATTGATE_SIM')" "gpus 5" "options rule the scenario"
a=$(sim -s random --seed 7 --print) b=$(sim -s random --seed 7 --print) c=$(sim -s random --seed 8 --print)
is "$a" "$b" "a seed draws the same again"
[ "$a" != "$c" ]
is $? 0 "another seed draws another node"
# shellcheck disable=SC2016 # expanded by the program
"$program" sim -- sh -c 'echo ready >"$TMPDIR/ready"; exec sleep 30' &
pid=$!
for _ in $(seq 1 50); do
    [ -e "$TMPDIR/ready" ] && break
    sleep 0.1
done
kill -TERM "$pid"
wait "$pid"
rm -f "$TMPDIR/err" "$TMPDIR/ready"
is "$(ls "$TMPDIR")" "" "nothing is left behind, not after a signal either"
echo "1..$n"
exit $bad
