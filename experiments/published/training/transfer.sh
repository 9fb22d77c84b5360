#!/usr/bin/env bash
# How far do an A100's numbers carry to an H100? Fits llm-foundry's A100 runs, takes all that they say of the GPU and the kernels for its H100 runs,
# and fits three numbers of the H100 anew: what products and FlashAttention's two directions attain. The cluster, of which nothing is known, has its priors.
# usage: experiments/published/training/transfer.sh [OUT]     (after ./dev build; a minute)
set -euo pipefail
here=$(cd "$(dirname "$0")/../../.." && pwd)
out=${1:-$here/out/published_transfer}
table=$here/experiments/published/training/tables/llmfoundry.csv
bin=${BIN:-$here/build/release/bin}
mkdir -p "$out/a100" "$out/h100"
for gpu in a100 h100; do (head -1 "$table" && grep ",$gpu-sxm-" "$table") > "$out/llmfoundry_$gpu.csv"; done

"$bin/shardlab-analyze" refit "$out/llmfoundry_a100.csv" --jobs 2 --rounds 4 --out "$out/a100" | tail -1
# columns: scope,owner,place,key,value,relative_stderr,prior,prior_sd,low,high
awk -F, -v OFS=, '
  { print }
  $2 == "sm80x108" { $2 = "sm90x132"; print }
  $2 == "mosaic-a100-80g" { $2 = "mosaic-h100"; $5 = $7; print }' "$out/a100/numbers.csv" > "$out/start.csv"
"$bin/shardlab-analyze" refit "$out/llmfoundry_h100.csv" --jobs 2 --rounds 4 --start "$out/start.csv" --only sm90x132:gemm_efficiency \
  --only sm90x132:flash1_forward_efficiency --only sm90x132:flash1_backward_efficiency --out "$out/h100" | tail -1
