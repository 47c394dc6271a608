#!/bin/sh
# The wheel, with its runtime dependencies alone, in an empty environment, runs three commands; its man pages and
# completions are where man and the shells look.
# PYTHON chooses the interpreter. Prints one line a step; the first failure ends it.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
log=$root/fixtures/guide/chat.jsonl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PYTHONPATH

"${PYTHON:-python3}" -m venv "$work/venv"
bin=$work/venv/bin
"$bin/pip" wheel -q --no-deps -w "$work" "$root"
"$bin/pip" install -q "$work"/ctxkit_cli-*.whl
cd "$work" # not in the project, so that only the wheel can be imported
echo "installed: $("$bin/pip" list 2>/dev/null | awk 'NR > 2 { print $1 }' | tr '\n' ' ')"

for other in pytest hypothesis ruff mypy; do
    if "$bin/python" -c "import $other" 2>/dev/null; then
        echo "smoke: $other is installed: not a runtime environment" >&2
        exit 1
    fi
done
"$bin/python" -c 'import ctxkit, pathlib; assert (pathlib.Path(ctxkit.__file__).parent / "py.typed").is_file(), "py.typed"'

for file in man/man1/ctxkit.1 man/man1/ctxkit-show.1 bash-completion/completions/ctxkit \
    zsh/site-functions/_ctxkit fish/vendor_completions.d/ctxkit.fish; do
    [ -s "$work/venv/share/$file" ] || { echo "smoke: share/$file is not in the wheel" >&2; exit 1; }
done
"$bin/ctxkit" help --completion bash | cmp - "$work/venv/share/bash-completion/completions/ctxkit"
if command -v man >/dev/null; then # as a user finds it: by the prefix alone
    MANPATH=$work/venv/share/man MANPAGER=cat MANWIDTH=80 man --warnings ctxkit-show >page 2>complaints
    [ ! -s complaints ] || { cat complaints >&2; exit 1; }
    grep -q 'EXIT STATUS' page
    echo "man: $(wc -l <page) lines"
fi

"$bin/ctxkit" --version
"$bin/ctxkit" show "$log" >shown
grep -q 'refactor the session module' shown
echo "show: $(wc -l <shown) lines"

"$bin/ctxkit" mark - <"$log" >marked
head -c "$(wc -c <"$log")" marked | cmp - "$log"
tail -n 1 marked | grep -q '"ctxkit": *"mark"'
echo "mark: $(wc -l <marked) lines"
