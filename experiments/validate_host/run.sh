#!/usr/bin/env bash
# Twelve configurations, predicted with a calibrated profile and then measured: the error of the step time, whether the
# 90 % interval holds the measured median, and how wide it is. Usage: run.sh [PROFILE.json [FOLDER]]
# Without a profile the machine is calibrated first. BUILD names the build folder (build/release).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=${BUILD:-$root/build/release}/bin
profile=${1:-$root/out/profile.json}
out=${2:-$root/out/validate_host}
data=$root/examples/corpus.txt
steps=${STEPS:-14}
mkdir -p "$out" "$(dirname "$profile")"
[ -f "$profile" ] || "$bin/shardlab" calibrate --backend host --out "$profile"

cat >"$out/wide.json" <<'JSON'
{"model_type": "gpt2", "vocab_size": 512, "n_positions": 256, "n_layer": 4, "n_embd": 384, "n_head": 6,
 "embd_pdrop": 0, "attn_pdrop": 0, "resid_pdrop": 0}
JSON

# name        model           seq micro stage world
configurations="
tiny-128-z0   gpt2-tiny       128 8 0 1
tiny-256-z1   gpt2-tiny       256 4 1 2
tiny-256-z3   gpt2-tiny       256 4 3 2
mini-128-z0   gpt2-mini       128 4 0 1
mini-256-z0   gpt2-mini       256 4 0 1
mini-256-z2   gpt2-mini       256 4 2 2
mini-128-z3   gpt2-mini       128 8 3 2
wide-256-z0   $out/wide.json  256 2 0 1
wide-256-z1   $out/wide.json  256 2 1 2
gpt2-128-z0   gpt2            128 1 0 1
gpt2-256-z0   gpt2            256 2 0 1
gpt2-256-z2   gpt2            256 1 2 2
"

echo "name,world,zero_stage,predicted_s,predicted_low_s,predicted_high_s,measured_s,measured_low_s,measured_high_s,load" \
  >"$out/runs.csv"
while read -r name model seq micro stage world; do
  [ -n "$name" ] || continue
  common=(--model "$model" --config "$root/examples/ds_zero$stage.json" --cluster "$profile" --seq "$seq"
    --micro-batch "$micro" --grad-accum 1 --train-batch $((micro * world)) --world "$world" --quiet)
  "$bin/shardlab" predict "${common[@]}" --json "$out/$name.predicted.json"
  load=$(cut -d' ' -f1 /proc/loadavg)
  # mpirun reads what is on its standard input, which here are the configurations still to come
  "$bin/shardlab" measure "${common[@]}" --data "$data" --steps "$steps" --json "$out/$name.measured.json" </dev/null
  python3 - "$name" "$world" "$stage" "$load" "$out/$name" >>"$out/runs.csv" <<'PY'
import json, sys
name, world, stage, load, path = sys.argv[1:]
p, m = (json.load(open(path + kind)) for kind in (".predicted.json", ".measured.json"))
keys = ("step_time_s", "step_time_low_s", "step_time_high_s")
print(",".join([name, world, stage] + ["%.6g" % r[k] for r in (p, m) for k in keys] + [load]))
PY
  tail -1 "$out/runs.csv"
done <<<"$configurations"
python3 "$here/table.py" "$out/runs.csv" | tee "$out/table.md"
