#!/usr/bin/env bash
# The bubble of every pipeline schedule: predicted for 2 to 16 pipeline ranks, measured on 2, against its closed form.
# usage: experiments/pipeline_bubble/run.sh [--no-measure] [OUT]     (after ./dev build)
# PROFILE=FILE predicts the two measured ranks with a profile that `shardlab calibrate` wrote.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
measure=yes
while [[ "${1:-}" = --* ]]; do
  case $1 in
  --no-measure) measure= ;;
  *) echo "run.sh: no flag $1; expected --no-measure" >&2; exit 2 ;;
  esac
  shift
done
out=${1:-out/pipeline_bubble}
here=experiments/pipeline_bubble
bin=${BIN:-$root/build/release/bin}
mkdir -p "$out/records"
rm -f "$out"/records/*.json

# GPT-3 175B, eight tensor-parallel ranks in a node, one node a pipeline rank: 96 layers divide by every size here.
gpu=(--model gpt3-175b --config $here/ds_bf16.json --cluster dgx-a100-80g --tp 8 --sequence-parallel --recompute selective
  --make-vocab-size-divisible-by 1)
# Eight layers and a vocabulary of bytes, so that the two ends are light: one thread a rank.
cpu=(--model $here/gpt2_8_layers.json --config $here/ds_fp32.json --cluster "${PROFILE:-localhost}" --seq 128 --threads 1)

for p in 2 4 8 16; do
  echo "== predicted on $p pipeline ranks" >&2
  for rounds in 1 2 4 8; do
    m=$((rounds * p))
    for s in gpipe:1 1f1b:1 interleaved:2 interleaved:6 zb-h1:1 zbv:2; do
      "$bin/shardlab" predict "${gpu[@]}" --world $((8 * p)) --pp $p --schedule ${s%:*} --virtual-stages ${s#*:} --grad-accum $m \
        --quiet --json "$out/records/gpu_${s/:/_}_${p}_${m}_predicted.json"
    done
  done
done

for m in 2 4 8 16; do
  for s in gpipe:1 1f1b:1 interleaved:2 interleaved:4 zb-h1:1 zbv:2; do
    job=("${cpu[@]}" --world 2 --pp 2 --schedule ${s%:*} --virtual-stages ${s#*:} --grad-accum $m --quiet)
    "$bin/shardlab" predict "${job[@]}" --json "$out/records/cpu_${s/:/_}_2_${m}_predicted.json"
    [ -n "$measure" ] || continue
    echo "== measured: $s, $m micro-batches" >&2
    "$bin/shardlab" measure "${job[@]}" --steps 6 --data examples/corpus.txt \
      --json "$out/records/cpu_${s/:/_}_2_${m}_measured.json"
  done
done

python3 $here/tables.py "$out" | tee "$out/tables.md"
experiments/draw.sh $here/bubble.gp "$out"
echo
echo "tables    $out/tables.md, bubble.csv"
echo "pictures  $out/bubble.{svg,png}"
