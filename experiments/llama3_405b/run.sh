#!/usr/bin/env bash
# Llama 3 405B on 8192 and 16384 H100: predicted beside what was published.
# usage: experiments/llama3_405b/run.sh [OUT]     (after ./dev build; python3)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${1:-$root/out/llama3_405b}
mkdir -p "$out/records"

# 128 virtual stages of a layer each, of which the first and the last have none: section 3.3.2 of the paper.
stages=0$(printf ',1%.0s' $(seq 126)),0

predict() { # world
  "$root/build/release/bin/shardlab" predict --model llama3-405b --preset megatron-distributed-optimizer \
    --config "$here/ds_bf16.json" --cluster dgx-h100 --world "$1" --tp 8 --pp 16 --train-batch 2048 \
    --schedule interleaved --virtual-stages 8 --stages "$stages" --sequence-parallel --recompute none --attention flash \
    --kernels megatron-fused --quiet --json "$out/records/world_$1.json"
}
predict 8192
predict 16384
python3 "$here/tables.py" "$out" | tee "$out/tables.md"
