#!/usr/bin/env bash
# What today's fit and predictions make of an H100 that was calibrated and measured on 2026-11-26: no GPU is needed. Fits the
# points that its record holds, takes the context of the GPU from the calibration before it (README.md says why), predicts
# again, and compares with what was measured. usage: again.sh [FOLDER]; BIN: where shardlab is.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
export BIN=${BIN:-$root/build/release/bin}
out=${1:-$root/out/validate_gpu}
records=$root/experiments/records/2026-11-26-nvidia-h100-80gb-hbm3
mkdir -p "$out"
gzip -dc "$records-b/measure/profile/profile.fit/points.json.gz" >"$out/points.json"
"$BIN/shardlab-analyze" fit "$out/points.json" --out "$out/profile.json" >/dev/null
python3 -B "$root/tests/gpu/compare.py" context "$records/measure/profile/profile.json" "$out/profile.json"
PROFILE=$out/profile.json MEASURED=$records-b/measure/validate "$here/run.sh" "$out"
