#!/usr/bin/env bash
# Data parallelism, model parallelism and ZeRO compared by memory, communication and the largest model that fits: predicted.
# usage: experiments/strategy_table/run.sh [OUT]     (after ./dev build)
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
out=${1:-out/strategy_table}
here=experiments/strategy_table
bin=${BIN:-$root/build/release/bin}
mkdir -p "$out"
python3 $here/tables.py "$bin/shardlab" "$out" | tee "$out/tables.md"
experiments/draw.sh $here/strategy.gp "$out"
echo
echo "tables    $out/tables.md, strategy.csv"
echo "pictures  $out/strategy.{svg,png}"
