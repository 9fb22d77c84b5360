#!/usr/bin/env bash
# Activation memory of tensor parallelism, sequence parallelism and recomputation against Megatron-LM's published figures.
# usage: experiments/activation_memory/run.sh [OUT]     (after ./dev build; some minutes: 40 predictions of up to 512 ranks)
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
out=${1:-out/activation_memory}
here=experiments/activation_memory
bin=${BIN:-$root/build/release/bin}
mkdir -p "$out/records"
rm -f "$out"/records/*.json

# Every model and technique twice: as published, and with one layer more in each stage of the pipeline.
python3 $here/tables.py jobs | while read -r name world model config; do
  echo "$model" >"$out/model.json"
  echo "$config" >"$out/config.json"
  echo "   $name" >&2
  "$bin/shardlab" predict --model "$out/model.json" --config "$out/config.json" --cluster dgx-a100-80g \
    --world "$world" --quiet --json "$out/records/$name.json"
done
rm -f "$out/model.json" "$out/config.json"

python3 $here/tables.py tables "$out" | tee "$out/tables.md"
experiments/draw.sh $here/activation_memory.gp "$out"
echo
echo "tables    $out/tables.md, activation_memory.csv"
echo "picture   $out/activation_memory.{svg,png}"
