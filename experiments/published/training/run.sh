#!/usr/bin/env bash
# Predict every row of the published tables and lay the predictions beside what was measured.
# usage: experiments/published/training/run.sh [OUT]     (after ./dev build)
set -euo pipefail
here=$(cd "$(dirname "$0")/../../.." && pwd)
bin=${BIN:-$here/build/release/bin}
out=${1:-$here/out/published_training}
tables=$here/experiments/published/training
mkdir -p "$out"

for table in "$tables"/tables/*.csv; do
  name=$(basename "$table")
  "$bin/shardlab" predict --table "$table" --out "$out/$name"
  python3 "$tables/score.py" "$table" "$out/$name"
  if [ "$name" = nanotron.csv ]; then # below 10 % of the peak networks were faulty: README.md
    python3 "$tables/score.py" "$table" "$out/$name" --min-mfu 10
  fi
done
