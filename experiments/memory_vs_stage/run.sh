#!/usr/bin/env bash
# Memory against ZeRO stage: the paper's figure, a real training on this machine, and DeepSpeed's estimators.
# usage: experiments/memory_vs_stage/run.sh [--quick] [--no-measure] [--backend cuda] [OUT]     (after ./dev build)
# --quick trains gpt2-mini instead of gpt2 and leaves out 8 ranks, --no-measure trains nothing. --backend cuda trains on a GPU,
# which all ranks share: memory is the device's, times mean nothing. MODEL=NAME|FILE trains another one, PRECISIONS=bf16 in
# these alone, WORLDS="1 2" on so many ranks. LIMIT_S: seconds of one run; BUDGET_S: what is not measured by then is left out.
# A run that fails or is left out is said, and "not measured" in the table.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
model=gpt2 worlds="1 2 4 8"
if [ "${1:-}" = --quick ]; then
  model=gpt2-mini worlds="1 2 4"
  shift
fi
precisions=${PRECISIONS:-fp32 bf16 fp16}
if [ "${1:-}" = --no-measure ]; then
  precisions=
  shift
fi
backend=host cluster=localhost
if [ "${1:-}" = --backend ]; then
  backend=$2
  [ "$backend" != cuda ] || cluster=dgx-h200
  shift 2
fi
model=${MODEL:-$model} worlds=${WORLDS:-$worlds}
limit=${LIMIT_S:-100000}
end=$((SECONDS + ${BUDGET_S:-100000}))
out=${1:-out/memory_vs_stage}
here=experiments/memory_vs_stage
bin=${BIN:-$root/build/release/bin}
mkdir -p "$out/records"
rm -f "$out"/records/*.json

echo "== a: 7.5 billion parameters on 1 to 1024 devices, predicted" >&2
for world in 1 4 16 64 256 1024; do
  for stage in 0 1 2 3; do
    "$bin/shardlab" predict --model zero-7.5b --make-vocab-size-divisible-by 1 --config $here/ds_defaults_fp16.json --cluster dgx2-v100 --world $world \
      --zero-stage $stage --quiet --json "$out/records/a_${world}_$stage.json"
  done
done

timed() { # COMMAND...: within the limit of a run and what is left of all
  local left=$((end - SECONDS))
  timeout $((left < 1 ? 1 : left < limit ? left : limit)) "$@"
}

# One training run; what it cannot do, for want of memory or time, is said and left out.
train() { # precision world stage
  local job=(--model "$model" --config "$here/ds_$1.json" --world "$2" --zero-stage "$3" --seq 64 --cluster "$cluster")
  local name=$out/records/b_$1_$2_$3
  "$bin/shardlab" predict "${job[@]}" --no-fold --quiet --json "${name}_predicted.json"
  local need available
  need=$(python3 -c "import json; print(json.load(open('${name}_predicted.json'))['memory']['device']['peak_bytes'] * $2 // 1048576)")
  available=$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
  if [ "$backend" = cuda ]; then # where it does not say, the run will
    available=$(nvidia-smi --query-gpu=memory.free --format=csv,noheader,nounits | head -1 | grep -x '[0-9]*') || available=$((2 * need))
  fi
  if [ $((need * 10)) -gt $((available * 9)) ]; then
    echo "   $1, $2 ranks, stage $3: predicted $need MiB in all, $available MiB free: not measured" >&2
    return
  fi
  if [ $SECONDS -ge $end ]; then
    echo "   $1, $2 ranks, stage $3: no time left: not measured" >&2
    return
  fi
  timed "$bin/shardlab" measure "${job[@]}" --backend "$backend" --steps 2 --data examples/corpus.txt --quiet \
    --json "${name}_measured.json" || {
    local code=$?
    rm -f "${name}_measured.json" # a run that was ended may have begun to write
    echo "   $1, $2 ranks, stage $3: exit status $code: not measured" >&2
  }
}

[ -z "$precisions" ] || echo "== b: $model on $worlds ranks, predicted and measured" >&2
for precision in $precisions; do
  probe=(--model gpt2-tiny --config "$here/ds_$precision.json" --seq 8 --steps 1 --quiet --cluster "$cluster")
  if ! { "$bin/shardlab" predict "${probe[@]}" && timeout "$limit" "$bin/shardlab" measure "${probe[@]}" --backend "$backend" \
    --data examples/corpus.txt; } \
    2>"$out/probe.txt"; then
    echo "   $precision is left out: $(tail -1 "$out/probe.txt")" >&2
    continue
  fi
  for world in $worlds; do
    for stage in 0 1 2 3; do
      # one rank has nobody to share with: its stages are one
      if [ $world -gt 1 ] || [ $stage -eq 0 ]; then train $precision $world $stage; fi
    done
  done
done
rm -f "$out/probe.txt"

echo "== c: DeepSpeed's estimators and the whole of a step" >&2
"$bin/shardlab" show estimator --model $here/gpt_2851m.json --cluster dgx-a100-80g --world 8 --json "$out/records/c_estimator.json"
for stage in 2 3; do
  for offload in none optimizer both; do
    if [ $stage$offload = 2both ]; then continue; fi
    python3 $here/tables.py offload $offload <$here/ds_defaults_fp16.json >"$out/records/ds_$offload.json"
    "$bin/shardlab" predict --model $here/gpt_2851m.json --make-vocab-size-divisible-by 1 --config "$out/records/ds_$offload.json" --cluster dgx-a100-80g \
      --world 8 --zero-stage $stage --quiet --json "$out/records/c_${stage}_$offload.json" 2>/dev/null || true
    rm -f "$out/records/ds_$offload.json"
  done
done

python3 $here/tables.py "$([ -n "$precisions" ] && echo tables || echo predicted)" "$out" | tee "$out/tables.md"
for name in zero_paper ${precisions:+measured} estimator; do
  command -v gnuplot >/dev/null || break
  experiments/draw.sh $here/$name.gp "$out"
done
echo
echo "tables    $out/tables.md, zero_paper.csv, zero_table.csv, measured.csv, estimator.csv"
echo "pictures  $out/{zero_paper,measured,estimator}.{svg,png}"
