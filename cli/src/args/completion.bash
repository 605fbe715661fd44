_licctl() {
    local word="${COMP_WORDS[COMP_CWORD]}" at
    local words=()
    # Bash sets the = of --flag=value apart, which licctl reads as two words.
    for at in "${COMP_WORDS[@]:0:COMP_CWORD}"; do
        [[ "$at" == = ]] || words+=("$at")
    done
    words+=("$2")
    local IFS=$'\013'
    COMPREPLY=($(_CLAP_IFS="$IFS" _CLAP_COMPLETE_INDEX="$((${#words[@]} - 1))" LICCTL_COMPLETE=bash \
        licctl -- "${words[@]}"))
    # A name with blanks is one word; within quotes it is one already.
    if [[ "$word" != [\"\']* ]]; then
        for at in "${!COMPREPLY[@]}"; do
            case "${COMPREPLY[at]}" in
                "~/"*) printf -v "COMPREPLY[at]" '~/%q' "${COMPREPLY[at]#??}" ;;
                *) printf -v "COMPREPLY[at]" '%q' "${COMPREPLY[at]}" ;;
            esac
        done
    fi
    # A folder is completed further.
    if [[ "${COMPREPLY-}" =~ [=/:]$ ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o bashdefault -o nosort -F _licctl licctl 2>/dev/null ||
    complete -o bashdefault -F _licctl licctl
