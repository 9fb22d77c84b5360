#!/usr/bin/env bash
# Which of DP, PP, TP and 3D, with which ZeRO stages, each framework expresses: the table, and every cell tried.
# usage: experiments/framework_support/run.sh [OUT]     (after ./dev build)
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
bin=${BIN:-$root/build/release/bin}
out=${1:-out/framework_support}
mkdir -p "$out"
status=0
python3 experiments/framework_support/cells.py "$bin/shardlab" "$out" || status=$?
cat "$out/tables.md"
echo
echo "tables    $out/tables.md, cells.csv"
exit $status
