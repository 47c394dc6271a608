#!/bin/sh
# pre-commit itself runs the hook of this repository, installed as it installs it, on a repository with a clean
# transcript (it passes) and on one with a key (it refuses the commit). A step of .ci/full: it needs PyPI.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PRE_COMMIT_HOME="$work/cache"
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q pre-commit
mkdir "$work/repository"
cd "$work/repository"
git init -q .
git config user.email test@example.com
git config user.name test
printf '%s\n' '{"role":"user","content":"hello"}' >clean.jsonl
git add .
commit=$(git -C "$root" rev-parse HEAD)
"$work/venv/bin/pre-commit" try-repo "$root" ctxkit-scan --ref "$commit" --all-files
key="ghp_$(od -An -N18 -tx1 /dev/urandom | tr -d ' \n')"
printf '{"role":"user","content":"my key is %s"}\n' "$key" >leak.jsonl
git add .
if "$work/venv/bin/pre-commit" try-repo "$root" ctxkit-scan --ref "$commit" --all-files >"$work/said" 2>&1; then
    cat "$work/said"
    echo "the hook let a key pass" >&2
    exit 1
fi
grep -q 'leak.jsonl: message 1, text: ghp_…\[36\]' "$work/said"
! grep -q "$key" "$work/said"
echo "the hook refused the key"
