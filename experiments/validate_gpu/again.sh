#!/usr/bin/env bash
# What today's fit and predictions make of a GPU that was calibrated and measured before: no GPU is needed. Fits the points that
# a record holds, predicts the steps again, and compares with what was measured.
# usage: again.sh h100|h200 [FOLDER]. The H100 was calibrated in the call that measured the steps, the H200
# in a call before.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
export BIN=${BIN:-$root/build/release/bin}
case ${1:-} in
h100) calibrated=2026-11-26-nvidia-h100-80gb-hbm3-c measured=$calibrated ;;
h200) calibrated=2026-11-27-nvidia-h200-b measured=2026-11-27-nvidia-h200-c ;;
*) echo "usage: again.sh h100|h200 [FOLDER]" >&2 && exit 2 ;;
esac
out=${2:-$root/out/validate_gpu/$1}
mkdir -p "$out"
gzip -dc "$root/experiments/records/$calibrated/measure/profile/profile.fit/points.json.gz" >"$out/points.json"
"$BIN/shardlab-analyze" fit "$out/points.json" --out "$out/profile.json" >/dev/null
PROFILE=$out/profile.json MEASURED=$root/experiments/records/$measured/measure/validate "$here/run.sh" "$out"
