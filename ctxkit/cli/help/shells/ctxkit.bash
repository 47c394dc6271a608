# bash completion for ctxkit. Every answer comes from `ctxkit __complete`; nothing of it is run or expanded.

_ctxkit() {
    local kind reply IFS=
    COMPREPLY=()
    {
        read -r kind
        while read -r reply; do COMPREPLY+=("$reply"); done
    } < <(command ctxkit __complete bash "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
    case $kind in
        files) compopt -o default ;;
        folders) compopt -o dirnames ;;
    esac
    [ "${#COMPREPLY[@]}" != 1 ] || case ${COMPREPLY[0]} in *=) compopt -o nospace ;; esac
} 2>/dev/null

complete -o nosort -F _ctxkit ctxkit 2>/dev/null || complete -o default -F _ctxkit ctxkit
