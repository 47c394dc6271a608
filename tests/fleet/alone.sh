#!/bin/sh
# One extra alone in an empty environment: `fleet` ingests and asks, `fleet-ray` does so by Ray, and runs its tests.
# PYTHON chooses the interpreter. Prints one line a step; the first failure ends it.
set -eu

extra=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PYTHONPATH

"${PYTHON:-python3}" -m venv "$work/venv"
bin=$work/venv/bin
mkdir "$work/logs"
cp "$root"/fixtures/guide/*.jsonl "$work/logs"

case $extra in
fleet)
    "$bin/pip" install -q "$root[fleet]"
    cd "$work"
    if "$bin/python" -c 'import ray' 2>/dev/null; then
        echo "alone: ray is installed: it is not of this extra" >&2
        exit 1
    fi
    "$bin/ctxkit" fleet ingest logs -o dataset
    count=$("$bin/ctxkit" fleet sql --dataset dataset 'select count(*) as n from transcripts' --csv | tail -n 1)
    [ "$count" = 2 ] || { echo "alone: $count transcripts, not 2" >&2; exit 1; }
    "$bin/ctxkit" fleet map status logs --engine ray >rows 2>said && exit 1
    grep -q "pip install 'ctxkit-cli\[fleet-ray\]'" said
    ;;
fleet-ray)
    "$bin/pip" install -q "$root[fleet-ray]" "pytest>=9" "pytest-xdist>=3.8" "hypothesis>=6.100"
    cd "$work"
    "$bin/ctxkit" fleet map compact logs --jobs 2 >here
    "$bin/ctxkit" fleet map compact logs --jobs 2 --engine ray >there
    cmp here there
    "$bin/ctxkit" fleet ingest logs -o dataset -q
    "$bin/ctxkit" fleet ingest logs -o by-ray -q --jobs 2 --engine ray
    for one in dataset by-ray; do
        "$bin/ctxkit" fleet sql --dataset $one 'from messages order by all' -o $one.csv -q
    done
    cmp dataset.csv by-ray.csv
    cd "$root"
    CTXKIT_FLEET_RAY=all "$bin/python" -m pytest -q -n0 tests/fleet/engines
    ;;
*)
    echo "alone: no such extra: $extra" >&2
    exit 2
    ;;
esac
echo "$extra: works alone"
