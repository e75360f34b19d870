#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The gates fail when they should: each is shown a planted violation.
# shellcheck source=tests/harness/e2e.sh
. "${WATTGATE_SOURCE:-.}/tests/harness/e2e.sh"
tools=$WATTGATE_SOURCE/tools

# check-layers, on a small tree of its own
mkdir -p "$tmp/tree"/{src/{base,core/triage,sys,source/{nvml,host},trace},sim,tests}
tree() { printf '%s\n' "$2" >"$tmp/tree/$1"; }
tree src/base/err.h '#include <stddef.h>'
tree src/sys/clock.h '#include "base/err.h"'
tree src/source/nvml/nvml.h '#include "base/err.h"'
tree src/trace/trace.h '#include "base/err.h"'
run "$tools/check-layers" --no-compile "$tmp/tree"
is "$status" 0 "layers: a good tree passes"

# violation FILE LINE WORD NAME
violation() {
    tree "$1" "$2"
    run "$tools/check-layers" --no-compile "$tmp/tree"
    is "$status" 1 "layers: $4"
    like "$out" "$3" "layers: $4, named"
    rm "$tmp/tree/$1"
}
violation src/core/triage/a.c '#include "sys/clock.h"' 'core may not include sys' "core knows no clock"
violation src/core/triage/a.c '#include <time.h>' 'core may not include <time.h>' "nor the system's"
violation src/base/a.c '#include "trace/trace.h"' 'base may not include trace' "base knows nobody"
violation src/trace/a.c '#include "source/nvml/nvml.h"' 'trace may not include source' \
    "adapters are strangers"
violation src/source/host/a.c '#include "source/nvml/nvml.h"' 'may not include each other' \
    "so are parts of one adapter"
violation src/base/a.c '#include <yaml.h>' 'yaml.h' "a library has its folder"
violation src/trace/a.c '#include "no/such.h"' 'neither beside' "a path that leads nowhere"
violation sim/a.c '#include "source/nvml/nvml.h"' 'sim may not include source' "sim stands alone"

# check-size
{
    echo 'int f(void)'
    echo '{'
    for _ in $(seq 60); do echo '    ;'; done
    echo '}'
} >"$tmp/long.c"
run "$tools/check-size" "$tmp/long.c"
is "$status" 1 "size: a function of 63 lines"
sed -i '1i /* size waiver: a table */' "$tmp/long.c"
run "$tools/check-size" "$tmp/long.c"
is "$status" 0 "size: a waiver counts"
yes 'int x;' | head -n 601 >"$tmp/long.c"
run "$tools/check-size" "$tmp/long.c"
is "$status" 1 "size: a file of 601 lines"

# check-commit
printf 'trace: reads dmon\n\nProblem: it did not.\n' >"$tmp/message"
run "$tools/check-commit" --message "$tmp/message"
is "$status" 0 "commit: a good message"
printf 'Fixed things.\n' >"$tmp/message"
run "$tools/check-commit" --message "$tmp/message"
is "$status" 1 "commit: no module, no problem"

# run-tests counts what it runs and misses what is absent
mkdir -p "$tmp/build/meson-info"
echo '[]' >"$tmp/build/compile_commands.json"
program() {
    printf '#!/bin/sh\n%s\n' "$2" >"$tmp/build/$1"
    chmod +x "$tmp/build/$1"
}
program mixed 'echo "ok 1 - a"; echo "ok 2 - b # SKIP no device"; echo "not ok 3 - c"; echo 1..3; exit 1'
program cut 'echo "ok 1 - a"; echo 1..3'
program dead 'kill -SEGV $$'
python3 - "$tmp/build" mixed cut dead absent >"$tmp/build/meson-info/intro-tests.json" <<'PY'
import json, sys
build, names = sys.argv[1], sys.argv[2:]
print(json.dumps([{"name": n, "cmd": [f"{build}/{n}"], "env": {}, "timeout": 30} for n in names]))
PY
run "$tools/run-tests" --build "$tmp/build" --suite none
is "$status" 1 "run-tests: fails"
like "$err" 'absent: .* was not built' "run-tests: names the program that is not there"
# a: 2, and the failures: c, the two that 'cut' promised, 'dead', 'absent' itself and as absent, and
# every test source of the tree, which this build does not compile
like "$out" '^2 passed, [0-9]+ failed, 1 skipped$' "run-tests: a skip is no pass"

# check-pure: a core that asks the time and remembers it
if command -v cc >/dev/null 2>&1 && command -v ar >/dev/null 2>&1; then
    mkdir -p "$tmp/pure"
    echo 'int base_fn(void) { return 1; }' >"$tmp/base.c"
    printf '#include <time.h>\nint seen;\nlong core_fn(void) { seen++; return time(0); }\n' >"$tmp/core.c"
    for name in base core; do
        cc -c "$tmp/$name.c" -o "$tmp/$name.o" && ar rc "$tmp/pure/lib$name.a" "$tmp/$name.o"
    done
    run "$tools/check-pure" "$tmp/pure"
    is "$status" 1 "pure: fails"
    like "$out" 'core uses time' "pure: names the call"
    like "$out" 'keeps state: seen' "pure: and the variable"
else
    skip "pure: fails" "no compiler"
fi
finish
