#!/usr/bin/env bash
# Twelve configurations, predicted with a calibrated profile and measured: the error of the step time, whether the 90 %
# interval of the median of ROUNDS runs holds the measured median, and how wide it is. Usage: run.sh [PROFILE.json [FOLDER]]
#
# Without a profile, or with the name of one to be, the machine is calibrated, in turns with the measurements: a round of
# the calibration, then a run of each configuration, so that both are of the same half hour of a machine that others share
# (README.md). ROUNDS times, and on while the predictions' median half-width is above 12 %, to MOST_ROUNDS: the noisier the
# machine, the more runs a median must be of to be foretold that well. The predictions are made of the profile alone, whose
# points are never of the twelve configurations' shapes. With a profile that is there all predictions are made before the
# first of ROUNDS measurements.
#
# A run takes STEPS steps or, where that is longer, about SECONDS_EACH seconds of them: small steps should not be over
# before the machine's state has changed once or twice.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=${BIN:-$root/build/release/bin}
out=${2:-$root/out/validate_host}
calibrates=$([ $# -gt 0 ] && [ -f "$1" ] && echo no || echo yes)
profile=${1:-$out/profile.json}
data=$root/examples/corpus.txt
steps=${STEPS:-5}
seconds=${SECONDS_EACH:-5}
rounds=${ROUNDS:-7}
most=${MOST_ROUNDS:-14}
mkdir -p "$out" "$(dirname "$profile")"

cat >"$out/wide.json" <<'JSON'
{"model_type": "gpt2", "vocab_size": 512, "n_positions": 256, "n_layer": 4, "n_embd": 384, "n_head": 6,
 "embd_pdrop": 0, "attn_pdrop": 0, "resid_pdrop": 0}
JSON

# name             model           seq micro stage world type
configurations="
tiny-128-z0        gpt2-tiny       128 8 0 1 fp32
tiny-256-z1-bf16   gpt2-tiny       256 4 1 2 bf16
tiny-256-z3        gpt2-tiny       256 4 3 2 fp32
mini-128-z0-fp16   gpt2-mini       128 4 0 1 fp16
mini-256-z0        gpt2-mini       256 4 0 1 fp32
mini-256-z2        gpt2-mini       256 4 2 2 fp32
mini-128-z3-bf16   gpt2-mini       128 8 3 2 bf16
wide-256-z0-bf16   $out/wide.json  256 2 0 1 bf16
wide-256-z1-fp16   $out/wide.json  256 2 1 2 fp16
gpt2-128-z0        gpt2            128 1 0 1 fp32
gpt2-256-z0        gpt2            256 2 0 1 fp32
gpt2-256-z2-bf16   gpt2            256 1 2 2 bf16
"

# The flags of a configuration, in the array `flags`; its precision goes into a copy of the stage's config.
configure() {
  local name=$1 model=$2 seq=$3 micro=$4 stage=$5 world=$6 type=$7
  cp "$root/examples/ds_zero$stage.json" "$out/$name.config.json"
  [ "$type" = fp32 ] || sed -i "0,/^{/s//{\"$type\": {\"enabled\": true},/" "$out/$name.config.json"
  flags=(--model "$model" --config "$out/$name.config.json" --cluster "$profile" --seq "$seq" --micro-batch "$micro"
    --grad-accum 1 --train-batch $((micro * world)) --world "$world" --quiet)
}

predict_all() {
  while read -r name rest; do
    [ -n "$name" ] || continue
    configure "$name" $rest
    "$bin/shardlab" predict "${flags[@]}" --runs "$rounds" --json "$out/$name.predicted.json"
  done <<<"$configurations"
}

narrow() { # are the intervals?
  python3 - "$out" $(awk 'NF { print $1 }' <<<"$configurations") <<'PYTHON'
import json, statistics, sys
times = [json.load(open("%s/%s.predicted.json" % (sys.argv[1], name))) for name in sys.argv[2:]]
widths = [(t["step_time_high_s"] - t["step_time_low_s"]) / 2 / t["step_time_s"] for t in times]
sys.exit(statistics.median(widths) > 0.12)
PYTHON
}

measure_all() { # ROUND
  while read -r name rest; do
    [ -n "$name" ] || continue
    configure "$name" $rest
    count=$(python3 -c "import json, math; t = json.load(open('$out/$name.predicted.json'))['step_time_s']
print(max($steps, math.ceil($seconds / t)))")
    echo "$name $(cut -d' ' -f1 /proc/loadavg)" >>"$out/load.txt"
    # mpirun reads what is on its standard input, which here are the configurations still to come
    "$bin/shardlab" measure "${flags[@]}" --data "$data" --steps "$count" --json "$out/$name.measured.$1.json" </dev/null
  done <<<"$configurations"
}

: >"$out/load.txt"
[ $calibrates = yes ] || predict_all
round=0
while [ "$round" -lt "$rounds" ]; do
  round=$((round + 1))
  if [ $calibrates = yes ]; then
    "$bin/shardlab" calibrate --backend host --rounds 1 $([ "$round" = 1 ] || echo --add) --out "$profile"
    predict_all
    if [ "$round" = "$rounds" ] && [ "$rounds" -lt "$most" ] && ! narrow; then rounds=$((rounds + 1)); fi
  fi
  measure_all "$round"
done
awk 'NF { print $1, $5, $6, $7 }' <<<"$configurations" | python3 "$here/table.py" "$out" "$rounds" | tee "$out/table.md"
