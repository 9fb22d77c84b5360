#!/usr/bin/env bash
# A small GPT-2 trained with and without each way to send less: its loss beside that of the plain run, and its bytes beside the predicted ones.
# usage: experiments/less_traffic/run.sh [OUT]     (after ./dev build; python3; STEPS=200, SEEDS="1 2 3")
# A run that was cut goes on where it was. The exit status is 1 where a bar is missed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=${BIN:-$root/build/release/bin}
out=${1:-$root/out/less_traffic}
mkdir -p "$out"
out=$(cd "$out" && pwd)
# shellcheck disable=SC2086 # SEEDS is a list
python3 "$here/runs.py" train "$bin/shardlab" "$root" "$out" "${STEPS:-200}" ${SEEDS:-1 2 3}
python3 "$here/runs.py" table "$out" | tee "$out/table.md"
