# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# bash completion for wattgate. It asks the program itself, so that it is never out of date:
# commands from `wattgate --help`, options and their words from `wattgate COMMAND --help`.

# Names of options, one a line, of the help text on stdin.
_wattgate_options() {
    sed -n 's/^  \(-., \|    \)\(--[a-z0-9-]*\).*/\2/p'
}

# What may follow an option: "-" when it takes nothing, else its argument as help prints it.
_wattgate_argument() {
    awk -v option="$1" '
        /^  (-., |    )--/ {
            letter = substr($0, 3, 2)
            name = substr($0, 7)
            argument = "-"
            if (match(name, /^--[a-z0-9-]+ [^ ]/))
                argument = substr(name, RLENGTH)
            sub(/ .*/, "", argument)
            sub(/ .*/, "", name)
            if (name == option || letter == option)
                print argument
        }'
}

_wattgate() {
    local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]}
    local previous=${COMP_WORDS[COMP_CWORD - 1]} command='' help argument i
    COMPREPLY=()
    # "--color=al" is three words to bash
    if [[ $current == = ]]; then
        current=
    elif [[ $previous == = && $COMP_CWORD -ge 2 ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --) return ;; # a command of its own follows
        -*) ;;
        *)
            command=${COMP_WORDS[i]}
            break
            ;;
        esac
    done
    if [[ -z $command ]]; then
        mapfile -t COMPREPLY < <(compgen -W "--help --version $("$program" --help 2>/dev/null |
            awk '/^Commands:/ { c = 1; next } c && /^[^ ]/ { c = 0 } c && /^  [a-z]/ { print $1 }')" \
            -- "$current")
        return
    fi
    help=$("$program" "$command" --help 2>/dev/null) || return
    argument=$(_wattgate_argument "$previous" <<<"$help")
    case $argument in
    '' | -)
        if [[ $current == -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "$(_wattgate_options <<<"$help")" -- "$current")
        else
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
        fi
        ;;
    *[A-Z]*'|'*) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;; # NAME|FILE: no words
    *'|'*) mapfile -t COMPREPLY < <(compgen -W "${argument//|/ }" -- "$current") ;;
    DIR) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
    FILE | TRACE) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    esac
}

complete -o filenames -F _wattgate wattgate
