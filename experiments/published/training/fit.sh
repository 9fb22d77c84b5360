#!/usr/bin/env bash
# Fit numbers of GPUs, clusters and kernel sets to the published tables, predict all of them again, and write the report.
# usage: experiments/published/training/fit.sh [OUT] [--write]     (after ./dev build; minutes, two processes)
# ROUNDS=6: rounds of the clock at most. START=numbers.csv: from these numbers, not from the priors.
# --write puts the numbers into profiles/ and the report into experiments/published/training/results; without it all stays in OUT.
set -euo pipefail
here=$(cd "$(dirname "$0")/../../.." && pwd)
bin=${BIN:-$here/build/release/bin}
out=${1:-$here/out/published_fit}
write=${2:-}
from=$here/experiments/published/training
mkdir -p "$out"
into=()
[ "$write" = --write ] && into=(--write "$here/profiles" --source "fit: experiments/published/training")

# torchtitan, fms-fsdp, unseen and nvidia's Hoppers are never fitted: they say what the numbers are worth elsewhere; of nvidia's Blackwells share_fit.py fits one number a device. Below 10 % of the peak networks were faulty (README.md).
"$bin/shardlab-analyze" refit \
  "$from"/tables/{korthikanti,hagemann,llmfoundry,bigscience,vtrain_multi_node,nanotron}.csv \
  --held-out "$from/tables/torchtitan.csv" --held-out "$from/tables/fms_fsdp.csv" --held-out "$from/tables/unseen.csv" --held-out "$from/tables/nvidia.csv" \
  --exclude "$from/excluded.csv" --min-mfu 10 \
  --jobs 2 --rounds "${ROUNDS:-6}" ${START:+--start "$START"} --out "$out" "${into[@]}" | tee "$out/fit.txt"

if [ "$write" = --write ]; then # profiles are embedded: they count once the library is built anew
  cmake --build "$(dirname "$bin")" --target shardlab -j2
fi
for table in "$from"/tables/*.csv; do
  "$bin/shardlab" predict --table "$table" --out "$out/$(basename "$table")" --jobs 2
done
python3 "$from/shipped.py" "$out"
python3 "$from/report.py" "$from/tables" "$out"
"$here/experiments/draw.sh" "$from/fit.gp" "$out" scatter errors
if [ "$write" = --write ]; then
  mkdir -p "$from/results"
  cp "$out"/{report.md,predictions.csv,numbers.csv,errors.csv,scatter.png,errors.png} "$from/results"
fi
