#!/usr/bin/env bash
# Eight configurations that are offloaded, predicted with a calibrated profile and measured: the error of the step time. Usage:
# run.sh [PROFILE.json [FOLDER]]
#
# Without a profile, or with the name of one to be, the machine is calibrated, in turns with the measurements, as in
# experiments/validate_host: a round of the calibration, then a run of each configuration, ROUNDS times. With a profile that is
# there all predictions are made before the first of ROUNDS measurements. Copies between the two arenas are held to LINK GB/s, in
# prediction and measurement alike: the profile with that number is FOLDER/linked.json. States on NVMe are in FOLDER/nvme.
#
# A run takes STEPS steps or, where that is longer, about SECONDS_EACH seconds of them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=${BIN:-$root/build/release/bin}
out=${2:-$root/out/offload_time}
calibrates=$([ $# -gt 0 ] && [ -f "$1" ] && echo no || echo yes)
profile=${1:-$out/profile.json}
mkdir -p "$out/nvme" "$(dirname "$profile")"
out=$(cd "$out" && pwd)
rounds=${ROUNDS:-5}
round=0
: >"$out/load.txt"
[ $calibrates = yes ] || python3 "$here/configurations.py" predict "$bin/shardlab" "$root" "$out" "$profile" "${LINK:-1}"
while [ "$round" -lt "$rounds" ]; do
  round=$((round + 1))
  if [ $calibrates = yes ]; then
    "$bin/shardlab" calibrate --backend host --rounds 1 $([ "$round" = 1 ] || echo --add) --nvme-path "$out/nvme" --out "$profile"
    python3 "$here/configurations.py" predict "$bin/shardlab" "$root" "$out" "$profile" "${LINK:-1}"
  fi
  python3 "$here/configurations.py" measure "$bin/shardlab" "$root" "$out" "$round" "${STEPS:-5}" "${SECONDS_EACH:-5}"
done
python3 "$here/configurations.py" table "$out" "$rounds" | tee "$out/table.md"
