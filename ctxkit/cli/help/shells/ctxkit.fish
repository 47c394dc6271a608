# fish completion for ctxkit. Every answer comes from `ctxkit __complete`; nothing of it is run or expanded.

function __ctxkit_complete
    set -l current (commandline -ct)
    set -l words (commandline -opc)
    set -l lines (command ctxkit __complete fish -- $words[2..-1] "$current" 2>/dev/null)
    set -l prefix (string match -r -- '^--[^=]*=' "$current")
    for line in $lines[2..-1]
        printf '%s\n' "$prefix$line"
    end
    set -l rest (string replace -- "$prefix" '' "$current")
    switch "$lines[1]"
        case files
            for path in (__fish_complete_path "$rest")
                printf '%s\n' "$prefix$path"
            end
        case folders
            for path in (__fish_complete_directories "$rest")
                printf '%s\n' "$prefix$path"
            end
    end
end

complete -c ctxkit -f -k -a '(__ctxkit_complete)'
