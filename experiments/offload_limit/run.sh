#!/usr/bin/env bash
# The largest GPT-2 that trains in the memory of a device, by what is offloaded: predicted on V100s, measured in an arena here.
# usage: experiments/offload_limit/run.sh [OUT]     (after ./dev build; python3; ARENA=1GiB of a device here; PREDICT=no: only what is measured;
# MEASURE=no: only what is predicted; LEAVE_MEMORY=4e9 and LEAVE_DISK=25e9: bytes of this machine that are left to others)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=${BIN:-$root/build/release/bin}
out=${1:-$root/out/offload_limit}
mkdir -p "$out/nvme"
python3 "$here/tables.py" "$bin/shardlab" "$root" "$out" "${ARENA:-1GiB}" | tee "$out/tables.md"
