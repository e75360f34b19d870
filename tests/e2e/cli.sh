#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What every command has in common: help, version, usage errors, clean stdout.
# shellcheck source=tests/harness/e2e.sh
. "${WATTGATE_SOURCE:-.}/tests/harness/e2e.sh"
[ -x "$WATTGATE" ] || [ -e "$WATTGATE_SOURCE/src/cli/main.c" ] ||
    skip_all "the program is not part of this tree yet"

run "$WATTGATE" --help
is "$status" 0 "help is no error"
commands=$("$WATTGATE_SOURCE/tools/list-commands" "$WATTGATE")
like "$out" "^Usage: wattgate" "it says how to call it"
is "$(wc -c <"$err" | tr -d ' ')" 0 "help goes to stdout alone"

run "$WATTGATE" --version
is "$status" 0 "version is no error"
like "$out" "^wattgate [0-9]+\.[0-9]+" "it says which one this is"

run "$WATTGATE"
is "$status" 2 "without a command: usage"
is "$(wc -c <"$out" | tr -d ' ')" 0 "and nothing on stdout"

run "$WATTGATE" no-such-command
is "$status" 2 "an unknown command: usage"
like "$err" "no-such-command" "named in the message"

for command in $commands; do
    run "$WATTGATE" "$command" --help
    is "$status" 0 "$command --help"
    like "$out" "^Usage: wattgate $command" "$command says how to call it"
    run "$WATTGATE" "$command" --no-such-option
    is "$status" 2 "$command refuses an unknown option"
    like "$err" "no-such-option" "$command names it"
    run "$WATTGATE" "$command" --color=purple
    is "$status" 2 "$command refuses an unknown word"
    like "$err" "auto" "$command says which words it knows"
done

run bash -c '"$WATTGATE" --help >/dev/full'
is "$status" 4 "a full disk is no success"
finish
