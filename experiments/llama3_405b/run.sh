#!/usr/bin/env bash
# Llama 3 405B on 8192 and 16384 H100, without and with context parallelism: predicted beside what was published.
# usage: experiments/llama3_405b/run.sh [OUT]     (after ./dev build; python3)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=${BIN:-$root/build/release/bin}
out=${1:-$root/out/llama3_405b}
mkdir -p "$out/records"

# 128 virtual stages of a layer each, of which the first and the last have none: section 3.3.2 of the paper.
stages=0$(printf ',1%.0s' $(seq 126)),0

# The model reads 131072 positions in the third row.
"$bin/shardlab" show model --model llama3-405b --json - |
  sed 's/"max_position_embeddings": 8192/"max_position_embeddings": 131072/' >"$out/llama3-405b.json"

predict() { # world cp sequence batch
  "$bin/shardlab" predict --model "$out/llama3-405b.json" --preset megatron-distributed-optimizer \
    --config "$here/ds_bf16.json" --cluster dgx-h100 --world "$1" --cp "$2" --seq "$3" --train-batch "$4" --tp 8 --pp 16 \
    --schedule interleaved --virtual-stages 8 --stages "$stages" --sequence-parallel --recompute none --attention flash \
    --kernels megatron-fused --quiet --json "$out/records/world_$1_cp_$2.json"
}
predict 8192 1 8192 2048
predict 16384 1 8192 2048
predict 16384 16 131072 128
python3 "$here/tables.py" "$out" | tee "$out/tables.md"
