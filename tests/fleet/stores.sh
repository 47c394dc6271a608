#!/usr/bin/env sh
# In an environment of its own: a real Inspect Scout reads a dataset, and a server of S3 (moto) holds logs and datasets.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q -e "$root[fleet]" inspect-scout "moto[server]" s3fs "pytest>=9" "pytest-xdist>=3.8" "hypothesis>=6.100"
cd "$root"
CTXKIT_FLEET=all "$work/venv/bin/python" -m pytest -q -n0 tests/fleet/test_inspect_scout.py tests/fleet/test_s3.py
