#!/usr/bin/env bash
# Fit the two host numbers of the kernel set megatron-core to Megatron-LM's own tests, which only the host bounds; all other numbers stay.
# usage: experiments/published/training/host_fit.sh [OUT] [--write]     (after ./dev build; seconds)
set -euo pipefail
here=$(cd "$(dirname "$0")/../../.." && pwd)
bin=${BIN:-$here/build/release/bin}
out=${1:-$here/out/host_fit}
from=experiments/published/training/host_fit.sh
mkdir -p "$out"
into=()
[ "${2:-}" = --write ] && into=(--write "$here/profiles" --source "fit: $from")
"$bin/shardlab-analyze" refit "$here/experiments/published/training/tables/megatron_tests.csv" \
  --only megatron-core:host_launch_us --only megatron-core:host_collective_us --jobs 2 --out "$out" "${into[@]}"
