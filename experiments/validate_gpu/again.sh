#!/usr/bin/env bash
# What today's fit and predictions make of an H100 that was calibrated and measured on 2026-11-26: no GPU is needed. Fits the
# points that its record holds, predicts again, and compares with what was measured.
# usage: again.sh [FOLDER]; BIN: where shardlab is.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
export BIN=${BIN:-$root/build/release/bin}
out=${1:-$root/out/validate_gpu}
record=$root/experiments/records/2026-11-26-nvidia-h100-80gb-hbm3-c/measure
mkdir -p "$out"
gzip -dc "$record/profile/profile.fit/points.json.gz" >"$out/points.json"
"$BIN/shardlab-analyze" fit "$out/points.json" --out "$out/profile.json" >/dev/null
PROFILE=$out/profile.json MEASURED=$record/validate "$here/run.sh" "$out"
