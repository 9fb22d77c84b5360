#!/usr/bin/env bash
# Predict one of the published scaling tables: jobs, predictions, table, picture.
# usage: experiments/published/scaling/run.sh NAME [OUT]     NAME: scaling_weak or scaling_strong (after ./dev build)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
bin=${BIN:-$root/build/release/bin}
name=${1:?"usage: run.sh scaling_weak|scaling_strong [OUT]"}
out=${2:-$root/out/$name}
mkdir -p "$out"

python3 "$here/scaling.py" jobs "$name" "$out/jobs.csv"
"$bin/shardlab" predict --table "$out/jobs.csv" --out "$out/predicted.csv"
python3 "$here/scaling.py" tables "$name" "$out/predicted.csv" "$out" | tee "$out/tables.md"
"$root/experiments/draw.sh" "$here/scaling.gp" "$out" "$name"
