# What .ci/run and .ci/full share: steps, each with its share of the time, and the table of them at the end.
# The caller sets `most`, the seconds of the whole run, and may set `only`, the name of the one step that is to run.

failed=()
table=()
began=$SECONDS
only=${only:-}
running=
trap '[ -z "$running" ] || kill "$running"; exit 143' TERM INT # who ends the run ends its step, which has its own group

# step NAME SHARE COMMAND...: SHARE is what it may take of the time of all, in seconds on two cores. A step that is
# longer says so; one that takes three times as long hangs, and is ended. A step that fails is named at the end; the
# next ones run all the same.
step() {
    local name=$1 share=$2 at=$SECONDS left code=0 took note=
    shift 2
    if [ -n "$only" ] && [ "$only" != "$name" ]; then return; fi
    left=$((began + most - SECONDS))
    if [ "$left" -le 0 ]; then
        code="not run: the time is over"
    else
        echo "== $name: $*"
        timeout --kill-after=10 $((3 * share < left ? 3 * share : left)) "$@" &
        running=$!
        wait "$running" || code=$?
        running=
    fi
    took=$((SECONDS - at))
    [ "$took" -le "$share" ] || note=", over its share"
    [ "$code" = 0 ] || failed+=("$name (exit $code)")
    table+=("$(printf '%-12s %6d s of %5d  exit %s%s' "$name" "$took" "$share" "$code" "$note")")
    echo "${table[-1]}"
}

# The table, and the exit code of the whole run.
summary() {
    printf '%s\n' "" "${table[@]}" "together     $((SECONDS - began)) s of $most"
    [ "${#failed[@]}" = 0 ] || { printf 'failed: %s\n' "${failed[@]}" >&2; exit 1; }
}

# install_packages PACKAGE...: from Debian.
install_packages() {
    local sudo=()
    [ "$(id -u)" = 0 ] || sudo=(sudo -n)
    "${sudo[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -qq -y --no-install-recommends "$@"
}
